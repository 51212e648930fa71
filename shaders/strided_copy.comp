// y[base_y + sum index*y_stride] = x[base_x + sum index*x_stride] over all indices of a shape:
// transposes, slices, concatenation, broadcasting. Elements of ELEMENT_BITS, whatever their type;
// where rows are contiguous, an element may stand for several of the tensor.
//   operands   0: x, 1: y, aligned to an element; they do not overlap
//   scalars    0: count of indices, below 2^31; 1: rank, at most kMaxRank
//              2: base of x, 3: base of y, in elements
//   parameters extents, strides of x, strides of y in elements (those of x may be negative or 0),
//              outermost first, kMaxRank of each
//   constants  0: workgroup size
// Any number of workgroups in x does.
#version 460
#extension GL_GOOGLE_include_directive : require

layout(local_size_x_id = 0) in;
#include "push_block.glsl"
#include "element.glsl"

const uint kMaxRank = 8;

layout(buffer_reference, scalar, buffer_reference_align = 4) readonly buffer Movement {
    uint extents[kMaxRank];
    int x_strides[kMaxRank];
    int y_strides[kMaxRank];
};

void main() {
    const uint count = push.scalars[0];
    const uint rank = push.scalars[1];
    Movement shape = Movement(push.parameters);
    In x = In(operand(0u));
    Out y = Out(operand(1u));
    for (uint i = linear_id(); i < count; i += linear_count()) {
        uint left = i;
        int x_at = int(push.scalars[2]);
        int y_at = int(push.scalars[3]);
        // What is left over for the outermost axis is its index: one division less.
        for (uint axis = rank; axis-- > 1u;) {
            const int index = int(left % shape.extents[axis]);
            left /= shape.extents[axis];
            x_at += index * shape.x_strides[axis];
            y_at += index * shape.y_strides[axis];
        }
        x_at += int(left) * shape.x_strides[0];
        y_at += int(left) * shape.y_strides[0];
        y.at[y_at] = x.at[x_at];
    }
}
