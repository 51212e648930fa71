// y[i] = pattern for i < count; 4-byte words.
//   operands  0: y
//   scalars   0: count in words, below 2^32; 1: pattern
//   constants 0: workgroup size
// Any number of workgroups in x does.
#version 460
#extension GL_GOOGLE_include_directive : require

layout(local_size_x_id = 0) in;
#include "push_block.glsl"

layout(buffer_reference, scalar, buffer_reference_align = 4) writeonly buffer Words {
    uint at[];
};

void main() {
    Words y = Words(operand(0u));
    for (uint i = linear_id(); i < push.scalars[0]; i += linear_count()) {
        y.at[i] = push.scalars[1];
    }
}
