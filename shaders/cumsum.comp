// Running sums along an axis, a line for each invocation. Floating types are summed in f64, integers
// in 64 bits that wrap around. Long lines are done in two rounds: the sums of their parts, then the
// lines, part by part.
//   operands   0: x, 1: sums of the parts (in the second round), f64 or i64 [outer, parts, inner], else
//              as 2; 2: y, which may be x; in the first round of two those sums
//   scalars    0: lines times parts, below 2^31; 1: elements of a line; 2: distance of its elements (the
//              product of the extents behind the axis); 3: 1 leaves out an element itself; 4: 1 from the
//              end; 5: parts of a line; 6: elements of a part; 7: 1 in the first round of two
//   constants  0: workgroup size, 1: type (leat's DType)
// Any number of workgroups in x does.
#version 460
#extension GL_GOOGLE_include_directive : require

layout(local_size_x_id = 0) in;
#include "push_block.glsl"
layout(constant_id = 1) const uint kType = 1;
#define WIDE 1
#include "number_access.glsl"

// One of the two counts.
struct Sum {
    double real;
    int64_t integer;
};
void add(inout Sum sum, uvec2 x, uint i) {
    if (is_real_type()) {
        sum.real += load_f64(x, i);
    } else {
        sum.integer += load_i64(x, i);
    }
}
void store(uvec2 y, uint i, Sum sum) {
    if (is_real_type()) {
        store_f64(y, i, sum.real);
    } else {
        store_i64(y, i, sum.integer);
    }
}

// What stands before part `part` of a line: the sums of those before it.
Sum sum_before(uint outer, uint part, uint parts, uint inner, uint column) {
    Elements64 sums = Elements64(operand(1u));
    Sum sum = Sum(0.0, 0);
    for (uint p = 0u; p < part; ++p) {
        const uvec2 bits = sums.at[(outer * parts + p) * inner + column];
        if (is_real_type()) {
            sum.real += packDouble2x32(bits);
        } else {
            sum.integer += int64_t(pack64(bits));
        }
    }
    return sum;
}

void main() {
    const uint extent = push.scalars[1];
    const uint inner = push.scalars[2];
    const bool is_exclusive = push.scalars[3] != 0u;
    const bool is_reverse = push.scalars[4] != 0u;
    const uint parts = push.scalars[5];
    const uint length = push.scalars[6];
    const bool is_first = push.scalars[7] != 0u;
    const uvec2 x = operand(0u);
    const uvec2 y = operand(2u);
    for (uint i = linear_id(); i < push.scalars[0]; i += linear_count()) {
        const uint column = i % inner;
        const uint part = i / inner % parts;
        const uint outer = i / inner / parts;
        const uint begin = outer * extent * inner + column;
        Sum sum = is_first || part == 0u ? Sum(0.0, 0) : sum_before(outer, part, parts, inner, column);
        const uint end = min(extent, (part + 1u) * length);
        for (uint k = part * length; k < end; ++k) {
            const uint at = begin + (is_reverse ? extent - 1u - k : k) * inner;
            const Sum before = sum;
            add(sum, x, at);
            if (!is_first) {
                if (is_exclusive) {
                    store(y, at, before);
                } else {
                    store(y, at, sum);
                }
            }
        }
        if (is_first) {
            Elements64(y).at[i] = is_real_type() ? unpackDouble2x32(sum.real)
                                                 : unpack32(uint64_t(sum.integer));
        }
    }
}
