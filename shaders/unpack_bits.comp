// y[i] = element i of x, whose elements are 2 or 4 bits, low bits first: integers as i32, f4e2m1 as
// f32, each in a word.
//   operands  0: x, bytes; 1: y, words
//   scalars   0: count of elements, below 2^31; 1: bits of an element, 2 or 4; 2: 0 unsigned, 1 signed,
//             2 f4e2m1
//   constants 0: workgroup size
// Any number of workgroups in x does.
#version 460
#extension GL_GOOGLE_include_directive : require

layout(local_size_x_id = 0) in;
#include "push_block.glsl"
#define ELEMENT_BITS 8
#include "element.glsl"

layout(buffer_reference, scalar, buffer_reference_align = 4) writeonly buffer Words {
    uint at[];
};

// A subnormal number, 0 or 0.5, has no hidden bit.
float f32_of_f4(uint code) {
    const uint magnitude = code & 7u;
    const float value = magnitude < 2u ? 0.5 * float(magnitude)
                                       : ldexp(1.0 + 0.5 * float(magnitude & 1u), int(magnitude >> 1) - 1);
    return uintBitsToFloat(floatBitsToUint(value) | (code & 8u) << 28);
}

void main() {
    const uint bits = push.scalars[1];
    In x = In(operand(0u));
    Words y = Words(operand(1u));
    for (uint i = linear_id(); i < push.scalars[0]; i += linear_count()) {
        const uint first = i * bits;
        const uint code = uint(x.at[first >> 3]) >> (first & 7u) & (1u << bits) - 1u;
        if (push.scalars[2] == 2u) {
            y.at[i] = floatBitsToUint(f32_of_f4(code));
        } else if (push.scalars[2] == 1u) {
            y.at[i] = uint(bitfieldExtract(int(code), 0, int(bits)));
        } else {
            y.at[i] = code;
        }
    }
}
