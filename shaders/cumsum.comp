// Running sums along an axis, a line for each invocation. Floating types are summed in f64, integers
// in 64 bits that wrap around.
//   operands   0: x, 1: y; y may be x
//   scalars    0: lines, below 2^31; 1: elements of a line; 2: distance of its elements (the product
//              of the extents behind the axis); 3: 1 leaves out an element itself; 4: 1 from the end
//   constants  0: workgroup size, 1: type (leat's DType)
// Any number of workgroups in x does.
#version 460
#extension GL_GOOGLE_include_directive : require

layout(local_size_x_id = 0) in;
#include "push_block.glsl"
layout(constant_id = 1) const uint kType = 1;
#define WIDE 1
#include "number_access.glsl"

void main() {
    const uint extent = push.scalars[1];
    const uint inner = push.scalars[2];
    const bool is_exclusive = push.scalars[3] != 0u;
    const uvec2 x = operand(0u);
    const uvec2 y = operand(1u);
    for (uint line = linear_id(); line < push.scalars[0]; line += linear_count()) {
        const uint begin = line / inner * extent * inner + line % inner;
        double sum = 0.0;
        int64_t integer_sum = 0;
        for (uint k = 0u; k < extent; ++k) {
            const uint i = begin + (push.scalars[4] != 0u ? extent - 1u - k : k) * inner;
            if (is_real_type()) {
                const double before = sum;
                sum += load_f64(x, i);
                store_f64(y, i, is_exclusive ? before : sum);
            } else {
                const int64_t before = integer_sum;
                integer_sum += load_i64(x, i);
                store_i64(y, i, is_exclusive ? before : integer_sum);
            }
        }
    }
}
