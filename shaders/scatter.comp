// Writes updates into y at positions that are data: ScatterElements and ScatterND. An invocation
// does all steps of a line in order, and no two lines have elements in common, so of equal
// positions the last wins and sums are those of a plain loop.
//   operands   0: indices, 1: updates, 2: y, which holds the data already, 3: ToldIndex
//   scalars    0: lines, below 2^31; 1: rank of the lines, at most kMaxRank; 2: steps of a line
//              3: elements of the updates by step; 4: indices by step
//              5: 1 if the indices lie as the updates do, 0 if all lines have the same
//              6: indices of a position, at most kMaxRank; 7: words of an index, 1 or 2
//   parameters Lines
//   constants  0: workgroup size, 1: type (leat's DType), 2: reduction, a k... below
// COMBINES=0 only replaces: the type is any of the elements' width, or 0 for 16 bytes. COMBINES=1
// has the reductions, of real types. An index out of range writes nothing and is told. Any number of workgroups
// in x does.
#version 460
#extension GL_GOOGLE_include_directive : require

layout(local_size_x_id = 0) in;
#include "push_block.glsl"
layout(constant_id = 1) const uint kType = 1;
layout(constant_id = 2) const uint kReduction = 0;
#define WIDE COMBINES
#include "number_access.glsl"
#include "indices.glsl"

const uint kNone = 0;
const uint kAdd = 1;
const uint kMul = 2;
const uint kMax = 3;
const uint kMin = 4;
const uint kMaxRank = 8;

layout(buffer_reference, scalar, buffer_reference_align = 4) readonly buffer Lines {
    uint extents[kMaxRank];
    int y_strides[kMaxRank];
    int update_strides[kMaxRank];
    // Of y's axes that indices belong to.
    int indexed_extents[kMaxRank];
    int indexed_strides[kMaxRank];
};
layout(buffer_reference, scalar, buffer_reference_align = 8) buffer Elements128 {
    uvec4 at[];
};

#if COMBINES
double combine_real(double a, double b) {
    switch (kReduction) {
        case kAdd:
            return a + b;
        case kMul:
            return a * b;
        default:
            // A NaN on either side stays.
            if (isnan(a) || isnan(b)) {
                return isnan(a) ? a : b;
            }
            return (kReduction == kMax) == (a < b) ? b : a;
    }
}

int64_t combine_integer(int64_t a, int64_t b) {
    switch (kReduction) {
        case kAdd:
            return int64_t(uint64_t(a) + uint64_t(b));
        case kMul:
            return int64_t(uint64_t(a) * uint64_t(b));
        default:
            const bool a_is_less = kType == kU64 ? uint64_t(a) < uint64_t(b) : a < b;
            return a_is_less == (kReduction == kMin) ? a : b;
    }
}

void update(uvec2 y, uint to, uvec2 updates, uint from) {
    if (is_real_type()) {
        store_f64(y, to, combine_real(load_f64(y, to), load_f64(updates, from)));
    } else {
        store_i64(y, to, combine_integer(load_i64(y, to), load_i64(updates, from)));
    }
}
#else
void update(uvec2 y, uint to, uvec2 updates, uint from) {
    switch (kType) {
        case kU8:
            Elements8(y).at[to] = Elements8(updates).at[from];
            break;
        case kU16:
            Elements16(y).at[to] = Elements16(updates).at[from];
            break;
        case kU32:
            Elements32(y).at[to] = Elements32(updates).at[from];
            break;
        case kU64:
            Elements64(y).at[to] = Elements64(updates).at[from];
            break;
        default:
            Elements128(y).at[to] = Elements128(updates).at[from];
    }
}
#endif

// Offset of the position whose first index is `at`; -1 if one is out of range.
int offset_of(Lines lines, IndexWords indices, uint at) {
    int offset = 0;
    for (uint k = 0u; k < push.scalars[6]; ++k) {
        const int index =
            load_index(indices, at + k, push.scalars[7], lines.indexed_extents[k]);
        if (index < 0) {
            tell_index(operand(3u), k, indices, at + k, push.scalars[7]);
            return -1;
        }
        offset += index * lines.indexed_strides[k];
    }
    return offset;
}

void main() {
    Lines lines = Lines(push.parameters);
    IndexWords indices = IndexWords(operand(0u));
    const uvec2 updates = operand(1u);
    const uvec2 y = operand(2u);
    for (uint line = linear_id(); line < push.scalars[0]; line += linear_count()) {
        uint left = line;
        int y_begin = 0;
        int begin = 0;
        for (uint axis = push.scalars[1]; axis-- > 0u;) {
            const int index = int(left % lines.extents[axis]);
            left /= lines.extents[axis];
            y_begin += index * lines.y_strides[axis];
            begin += index * lines.update_strides[axis];
        }
        uint at = uint(begin) * push.scalars[5];
        uint from = uint(begin);
        for (uint k = 0u; k < push.scalars[2]; ++k) {
            const int offset = offset_of(lines, indices, at);
            if (offset >= 0) {
                update(y, uint(y_begin + offset), updates, from);
            }
            at += push.scalars[4];
            from += push.scalars[3];
        }
    }
}
