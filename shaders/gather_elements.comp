// y[index] = x[index with indices[index] in place of the axis's own]: GatherElements. Elements of
// ELEMENT_BITS, whatever their type.
//   operands   0: x, 1: indices, 2: y, 3: ToldIndex; indices and y have one shape
//   scalars    0: count of y, below 2^31; 1: rank, at most kMaxRank; 2: x's extent on the axis
//              3: x's stride on the axis; 4: words of an index, 1 or 2
//   parameters extents of y; strides of x in elements, 0 for the axis
//   constants  0: workgroup size
// An index out of range reads nothing and is told. Any number of workgroups in x does.
#version 460
#extension GL_GOOGLE_include_directive : require

layout(local_size_x_id = 0) in;
#include "push_block.glsl"
#include "element.glsl"
#include "indices.glsl"

const uint kMaxRank = 8;

layout(buffer_reference, scalar, buffer_reference_align = 4) readonly buffer Axes {
    uint extents[kMaxRank];
    int x_strides[kMaxRank];
};

void main() {
    const uint count = push.scalars[0];
    Axes axes = Axes(push.parameters);
    In x = In(operand(0u));
    IndexWords indices = IndexWords(operand(1u));
    Out y = Out(operand(2u));
    for (uint i = linear_id(); i < count; i += linear_count()) {
        uint left = i;
        int x_at = 0;
        for (uint axis = push.scalars[1]; axis-- > 0u;) {
            x_at += int(left % axes.extents[axis]) * axes.x_strides[axis];
            left /= axes.extents[axis];
        }
        const int index = load_index(indices, i, push.scalars[4], int(push.scalars[2]));
        if (index < 0) {
            tell_index(operand(3u), 0u, indices, i, push.scalars[4]);
            y.at[i] = ELEMENT_OF_WORDS(uvec4(0u));
        } else {
            y.at[i] = x.at[x_at + index * int(push.scalars[3])];
        }
    }
}
