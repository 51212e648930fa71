// Slices of x at positions that are data: Gather and GatherND. Elements of ELEMENT_BITS, whatever
// their type; one may stand for several of the tensor.
//   operands   0: x, 1: indices, 2: y, 3: ToldIndex
//   scalars    0: count of y, below 2^31; 1: elements of a slice; 2: positions of a batch
//              3: positions that `indices` holds (then they repeat); 4: elements of x by batch
//              5: indices of a position, at most kMaxRank; 6: words of an index, 1 or 2
//   parameters extents and strides (in elements of x) of the axes that indices belong to
//   constants  0: workgroup size
// An index out of range reads nothing and is told. Any number of workgroups in x does.
#version 460
#extension GL_GOOGLE_include_directive : require

layout(local_size_x_id = 0) in;
#include "push_block.glsl"
#include "element.glsl"
#include "indices.glsl"

const uint kMaxRank = 8;

layout(buffer_reference, scalar, buffer_reference_align = 4) readonly buffer IndexedAxes {
    int extents[kMaxRank];
    int strides[kMaxRank];
};

void main() {
    const uint count = push.scalars[0];
    const uint slice = push.scalars[1];
    const uint depth = push.scalars[5];
    IndexedAxes axes = IndexedAxes(push.parameters);
    In x = In(operand(0u));
    IndexWords indices = IndexWords(operand(1u));
    Out y = Out(operand(2u));
    for (uint i = linear_id(); i < count; i += linear_count()) {
        const uint position = i / slice;
        int x_at = int(position / push.scalars[2] * push.scalars[4] + (i - position * slice));
        const uint first = position % push.scalars[3] * depth;
        bool is_outside = false;
        for (uint k = 0u; k < depth; ++k) {
            const int index =
                load_index(indices, first + k, push.scalars[6], axes.extents[k]);
            if (index < 0) {
                is_outside = true;
                tell_index(operand(3u), k, indices, first + k, push.scalars[6]);
            }
            x_at += index * axes.strides[k];
        }
        if (is_outside) {
            y.at[i] = ELEMENT_OF_WORDS(uvec4(0u));
        } else {
            y.at[i] = x.at[x_at];
        }
    }
}
