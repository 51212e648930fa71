// y = the elements of x in 2 or 4 bits each, low bits first: of integers the low bits or what they
// saturate to, of f32 the nearest f4e2m1. An invocation writes a byte; bits behind the last element
// are 0.
//   operands  0: x, words: i32 or f32; 1: y, bytes
//   scalars   0: count of bytes, below 2^31; 1: count of elements, below 2^31; 2: bits of an element, 2
//             or 4; 3: 0 keeps low bits, 1 saturates, 2 f4e2m1; 4 and 5: least and largest integer
//   constants 0: workgroup size
// Any number of workgroups in x does.
#version 460
#extension GL_GOOGLE_include_directive : require

layout(local_size_x_id = 0) in;
#include "push_block.glsl"
#define ELEMENT_BITS 8
#include "element.glsl"

layout(buffer_reference, scalar, buffer_reference_align = 4) readonly buffer Words {
    uint at[];
};

// Ties to even; what is too large becomes 6, NaN -0 as in ONNX's own tests.
uint f4_of(float x) {
    const uint sign = floatBitsToUint(x) >> 28 & 8u;
    const uint magnitude = floatBitsToUint(x) & 0x7fffffffu;
    if (magnitude > 0x7f800000u) {
        return 8u;
    }
    const float y = uintBitsToFloat(magnitude);
    uint code = 7u;
    code = y <= 5.0 ? 6u : code;
    code = y < 3.5 ? 5u : code;
    code = y <= 2.5 ? 4u : code;
    code = y < 1.75 ? 3u : code;
    code = y <= 1.25 ? 2u : code;
    code = y < 0.75 ? 1u : code;
    code = y <= 0.25 ? 0u : code;
    return code | sign;
}

uint code_of(uint word) {
    if (push.scalars[3] == 2u) {
        return f4_of(uintBitsToFloat(word));
    }
    return push.scalars[3] == 1u
               ? uint(clamp(int(word), int(push.scalars[4]), int(push.scalars[5])))
               : word;
}

void main() {
    const uint count = push.scalars[1];
    const uint bits = push.scalars[2];
    const uint per_byte = 8u / bits;
    Words x = Words(operand(0u));
    Out y = Out(operand(1u));
    for (uint i = linear_id(); i < push.scalars[0]; i += linear_count()) {
        uint packed = 0u;
        for (uint k = 0u; k < per_byte; ++k) {
            const uint at = i * per_byte + k;
            if (at < count) {
                packed |= (code_of(x.at[at]) & (1u << bits) - 1u) << k * bits;
            }
        }
        y.at[i] = uint8_t(packed);
    }
}
