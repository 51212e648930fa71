// The range of x and 0, and the scale and zero point that bring it to bytes.
//   operands   kStage 0: 0: x, 1: ranges, two floats for each invocation
//              kStage 1: 0: ranges, 1: scale (one float), 2: zero point (one byte)
//   scalars    0: elements of x, below 2^31, or ranges
//   constants  0: workgroup size, 1: kStage: 0 any number of workgroups in x, 1 one invocation works
#version 460
#extension GL_GOOGLE_include_directive : require

layout(local_size_x_id = 0) in;
#include "push_block.glsl"
#include "quantized_numbers.glsl"

layout(constant_id = 1) const uint kStage = 0;

layout(buffer_reference, scalar, buffer_reference_align = 4) buffer Ranges {
    vec2 at[];
};

// Without NaN.
vec2 joined(vec2 range, float low, float high) {
    return vec2(!is_nan_bits(low) && low < range.x ? low : range.x,
                !is_nan_bits(high) && high > range.y ? high : range.y);
}

void write_scale(vec2 range) {
    const float steps = 255.0;
    precise const float scale = range.x == range.y ? 1.0 : (range.y - range.x) / steps;
    precise const float quotient = range.x / scale;
    const float zero = is_nan_bits(quotient) ? 0.0 : clamp(-quotient, 0.0, steps);
    Elements32(operand(1u)).at[0] = floatBitsToUint(scale);
    Elements8(operand(2u)).at[0] = uint8_t(uint(roundEven(zero)));
}

void main() {
    vec2 range = vec2(0.0);
    if (kStage == 0u) {
        FloatsIn x = FloatsIn(operand(0u));
        for (uint i = linear_id(); i < push.scalars[0]; i += linear_count()) {
            range = joined(range, x.at[i], x.at[i]);
        }
        Ranges(operand(1u)).at[linear_id()] = range;
    } else if (linear_id() == 0u) {
        Ranges ranges = Ranges(operand(0u));
        for (uint i = 0u; i < push.scalars[0]; ++i) {
            const vec2 other = ranges.at[i];
            range = joined(range, other.x, other.y);
        }
        write_scale(range);
    }
}
