// The index of the largest or smallest element of each part of a line, i64: ArgMax and ArgMin. Long
// lines are done in two rounds: the winners of parts, then the winner of those.
//   operands   0: x, 1: winners of the parts of each line (the second round), i64, else as 2
//              2: y, i64 [outer, parts, inner]
//   scalars    0: count of y, below 2^31; 1: elements of a line; 2: distance of its elements (the
//              product of the extents behind the axis); 3: parts of a line; 4: candidates of a part
//              5: 1 for the largest; 6: 1 if of equal ones the last wins; 7: 1 in the second round
//   constants  0: workgroup size, 1: type (leat's DType)
// WIDE=0 takes f32, f16, bf16 and integers of 8 and 16 bits, WIDE=1 all types. A NaN wins over every
// number. Any number of workgroups in x does.
#version 460
#extension GL_GOOGLE_include_directive : require

layout(local_size_x_id = 0) in;
#include "push_block.glsl"
layout(constant_id = 1) const uint kType = 1;
#include "number_access.glsl"

#if WIDE
#define REAL double
double load_real(uvec2 x, uint i) {
    return load_f64(x, i);
}
// 64-bit integers do not fit in any floating type; u64 are shifted to signed ones of the same order.
int64_t load_ordered(uvec2 x, uint i) {
    const int64_t value = load_i64(x, i);
    return kType == kU64 ? value ^ int64_t(0x8000000000000000ul) : value;
}
#else
#define REAL float
float load_real(uvec2 x, uint i) {
    switch (kType) {
        case kU8:
            return float(uint(Elements8(x).at[i]));
        case kI8:
            return float(bitfieldExtract(int(uint(Elements8(x).at[i])), 0, 8));
        case kU16:
            return float(uint(Elements16(x).at[i]));
        case kI16:
            return float(bitfieldExtract(int(uint(Elements16(x).at[i])), 0, 16));
        default:
            return load_f32(x, i);
    }
}
#endif

bool wins(uvec2 x, uint candidate, uint best) {
    const bool is_max = push.scalars[5] != 0u;
    const bool is_last = push.scalars[6] != 0u;
#if WIDE
    if (!is_real_type()) {
        const int64_t a = load_ordered(x, candidate);
        const int64_t b = load_ordered(x, best);
        return (is_max ? a > b : a < b) || (is_last && a == b);
    }
#endif
    const REAL a = load_real(x, candidate);
    const REAL b = load_real(x, best);
    return (is_max ? a > b : a < b) || (isnan(a) && !isnan(b)) ||
           (is_last && (a == b || (isnan(a) && isnan(b))));
}

void main() {
    const uint extent = push.scalars[1];
    const uint inner = push.scalars[2];
    const uint parts = push.scalars[3];
    const uint length = push.scalars[4];
    const bool is_second = push.scalars[7] != 0u;
    const uvec2 x = operand(0u);
    Elements64 winners = Elements64(operand(1u));
    Elements64 y = Elements64(operand(2u));
    // In the second round the candidates of line [outer, inner] are winners [outer, length, inner].
    const uint candidates = is_second ? length : extent;
    for (uint i = linear_id(); i < push.scalars[0]; i += linear_count()) {
        const uint outer = i / inner / parts;
        const uint line = outer * extent * inner + i % inner;
        const uint first = is_second ? 0u : i / inner % parts * length;
        const uint end = min(first + length, candidates);
        uint best = first;
        for (uint k = first; k < end; ++k) {
            uint candidate = k;
            if (is_second) {
                candidate = winners.at[(outer * length + k) * inner + i % inner].x;
            }
            if (k == first || wins(x, line + candidate * inner, line + best * inner)) {
                best = candidate;
            }
        }
        y.at[i] = uvec2(best, 0u);
    }
}
