// y = x / (bias + alpha / size * sum of x^2 over neighbouring channels)^beta, x [images, channels,
// plane].
//   operands  0: x, 1: y; they do not overlap
//   scalars   0: count of elements, 1: channels, 2: plane, 3: channels before and 4: after that count,
//             5: bias, 6: alpha / size, 7: beta (floats)
//   constants 0: workgroup size
// Any number of workgroups in x does.
#version 460
#extension GL_GOOGLE_include_directive : require

layout(local_size_x_id = 0) in;
#include "push_block.glsl"
#include "accumulate.glsl"
#include "long_sum.glsl"
#include "real_math.glsl"

void main() {
    const uint count = push.scalars[0];
    const uint channels = push.scalars[1];
    const uint plane = push.scalars[2];
    const WIDE bias = WIDE(uintBitsToFloat(push.scalars[5]));
    const WIDE alpha = WIDE(uintBitsToFloat(push.scalars[6]));
    const WIDE beta = WIDE(uintBitsToFloat(push.scalars[7]));
    ElementsIn x = ElementsIn(operand(0u));
    ElementsOut y = ElementsOut(operand(1u));
    for (uint i = linear_id(); i < count; i += linear_count()) {
        const uint c = i / plane % channels;
        const uint before = min(c, push.scalars[3]);
        const uint after = min(channels - 1u - c, push.scalars[4]);
        LongSum sum = empty_sum();
        for (uint k = 0u; k <= before + after; ++k) {
            const WIDE value = widen(x.at[i - before * plane + k * plane]);
            add_to(sum, value * value);
        }
        y.at[i] = narrow(widen(x.at[i]) * real_pow(bias + alpha * value_of(sum), -beta));
    }
}
