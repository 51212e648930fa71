// y[i] = f over the elements x[base(i) + offset(j)], j < count: the ONNX reductions. Axes of x that
// are kept give base(i), the others offset(j); neighbouring axes of one kind are one, so there are at
// most four of each.
//   operands   0: x, 1: y, dense
//   parameters results, count of elements of each, kept axes, reduced axes; 1 where elements are
//              bools: the extreme of none is 0 or 1; extents and strides of the kept axes, then of the
//              reduced ones, four of each, in elements, outermost first
//   constants  0 to 2: see lanes.glsl, 3: f, a kReduce... below, as leat::ReduceKind
// Errors of sums of floats do not grow with the count. Where a float does not hold a sum, but may hold
// its mean, root or logarithm, the elements are scaled and summed again. Any number of workgroups does.
#version 460
#extension GL_GOOGLE_include_directive : require

layout(local_size_x_id = 0) in;
#include "push_block.glsl"
#include "accumulate.glsl"
#ifndef ELEMENT_IS_INTEGER
#include "long_sum.glsl"
#endif
#include "real_math.glsl"
#include "lanes.glsl"
#include "prologue.glsl"
#include "epilogue.glsl"

layout(constant_id = 3) const uint kKind = 0;
const uint kReduceSum = 0;
const uint kReduceMean = 1;
const uint kReduceMax = 2;
const uint kReduceMin = 3;
const uint kReduceProd = 4;
const uint kReduceL1 = 5;
const uint kReduceL2 = 6;
const uint kReduceLogSum = 7;
const uint kReduceLogSumExp = 8;
const uint kReduceSumSquare = 9;

layout(buffer_reference, scalar, buffer_reference_align = 4) readonly buffer ReduceProblem {
    uint results;
    uint count;
    uint kept_axes;
    uint reduced_axes;
    uint has_bools;
    uvec4 kept_extents;
    uvec4 kept_strides;
    uvec4 reduced_extents;
    uvec4 reduced_strides;
};

// Where index number `left` of these axes lies.
uint offset_of(uint left, uint axes, uvec4 extents, uvec4 strides) {
    uint offset = 0u;
    for (uint axis = axes; axis-- > 1u;) {
        offset += left % extents[axis] * strides[axis];
        left /= extents[axis];
    }
    return offset + left * strides[0];
}

#ifdef ELEMENT_IS_INTEGER
WIDE over_row(uint how, WIDE value) {
    return value;  // never with lanes
}
bool is_no_number(WIDE x) {
    return false;
}
WIDE lowest() {
    return LOWEST;
}
WIDE highest() {
    return HIGHEST;
}
#else
#ifdef ELEMENT_F64
double over_row(uint how, double value) {
    return value;  // never with lanes
}
#else
float over_row(uint how, float value) {
    return over_lanes(how, value);
}
#endif
bool is_no_number(WIDE x) {
    return isnan(x);
}
WIDE lowest() {
    return -INFINITY;
}
WIDE highest() {
    return INFINITY;
}
#endif

// What is read of a row.
struct Row {
    ElementsIn x;
    uint base;
    uint count;
    uint axes;
    uvec4 extents;
    uvec4 strides;
};

WIDE element(Row row, uint j) {
    return loaded(row.x, row.base + offset_of(j, row.axes, row.extents, row.strides));
}

WIDE extreme(Row row, bool is_max) {
    WIDE best = is_max ? lowest() : highest();
    for (uint j = lane(); j < row.count; j += lane_count()) {
        const WIDE value = element(row, j);
        best = (is_max ? value > best : value < best) || is_no_number(value) ? value : best;
    }
    return over_row(is_max ? kCombineMax : kCombineMin, best);
}

WIDE product(Row row) {
    WIDE result = WIDE(1);
    for (uint j = lane(); j < row.count; j += lane_count()) {
        result *= element(row, j);
    }
    return over_row(kCombineProduct, result);
}

// What is summed; `shift` of LogSumExp alone.
REAL real_term(REAL x, REAL shift) {
    switch (kKind) {
        case kReduceLogSumExp:
            return real_exp(x - shift);
        case kReduceL1:
            return abs(x);
        case kReduceL2:
        case kReduceSumSquare:
            return x * x;
        default:
            return x;
    }
}

#ifdef ELEMENT_IS_INTEGER
// Sums wrap.
WIDE exact_sum(Row row) {
    WIDE total = WIDE(0);
    for (uint j = lane(); j < row.count; j += lane_count()) {
        const WIDE x = element(row, j);
        total += kKind == kReduceL1 && x < WIDE(0) ? -x : kKind == kReduceSumSquare ? x * x : x;
    }
    return over_row(kCombineSum, total);
}
// Doubles need no short sums.
REAL real_sum(Row row, REAL shift) {
    REAL total = REAL(0);
    for (uint j = lane(); j < row.count; j += lane_count()) {
        total += real_term(REAL(element(row, j)), shift);
    }
    return total;
}
#else
REAL scaled_sum(Row row, REAL shift, REAL scale) {
    LongSum sum = empty_sum();
    for (uint j = lane(); j < row.count; j += lane_count()) {
        add_to(sum, real_term(element(row, j) * scale, shift));
    }
    return over_row(kCombineSum, value_of(sum));
}
REAL real_sum(Row row, REAL shift) {
    return scaled_sum(row, shift, REAL(1));
}

// What the sum of elements times `scale` becomes.
REAL finished(REAL sum, REAL scale, uint count) {
    switch (kKind) {
        case kReduceMean:
            return sum / REAL(count) / scale;
        case kReduceL2:
            return sqrt(sum) / scale;
        case kReduceLogSum:
            return scale == REAL(1) ? real_log(sum) : real_log(sum) - real_log(scale);
        case kReduceSumSquare:
            return sum / scale / scale;
        default:
            return sum / scale;
    }
}
REAL finished_sum(Row row) {
    REAL scale = REAL(1);
    REAL sum = real_sum(row, REAL(0));
#ifndef REAL_IS_DOUBLE
    // 2^-80, and 2^80 for squares that floats round to nothing.
    const float small = uintBitsToFloat(0x17800000u);
    const bool is_beyond = isinf(sum) || isnan(sum);
    if (is_beyond || (kKind == kReduceL2 && sum < small)) {
        scale = is_beyond ? small : 1.0 / small;
        sum = scaled_sum(row, REAL(0), scale);
    }
#endif
    return finished(sum, scale, row.count);
}
#endif

// A real result as an element; integers saturate.
STORED from_real(REAL x) {
#ifdef ELEMENT_IS_INTEGER
    if (isnan(x) || x <= REAL(LOWEST)) {
        return STORED(LOWEST);
    }
    return x >= REAL(HIGHEST) ? STORED(HIGHEST) : STORED(WIDE(x));
#else
    return narrow(x);
#endif
}

STORED reduce_row(Row row) {
    switch (kKind) {
        case kReduceMax:
        case kReduceMin:
            return narrow(extreme(row, kKind == kReduceMax));
        case kReduceProd:
            return narrow(product(row));
        case kReduceLogSumExp: {
            // No sum overflows once the maximum is taken out; of none or an infinite one nothing is.
            const REAL largest = row.count == 0u ? -INFINITY : REAL(extreme(row, true));
            const REAL shift = isinf(largest) || isnan(largest) ? REAL(0) : largest;
            return from_real(real_log(real_sum(row, shift)) + shift);
        }
        default:
            break;
    }
#ifdef ELEMENT_IS_INTEGER
    switch (kKind) {
        case kReduceMean:
            return row.count == 0u ? STORED(0) : narrow(exact_sum(row) / WIDE(row.count));
        case kReduceL2:
            return from_real(sqrt(real_sum(row, REAL(0))));
        case kReduceLogSum:
            return from_real(real_log(real_sum(row, REAL(0))));
        default:
            return narrow(exact_sum(row));
    }
#else
    return narrow(finished_sum(row));
#endif
}

void main() {
    ReduceProblem problem = ReduceProblem(push.parameters);
    const uint results = problem.results;
    const uint kept_axes = problem.kept_axes;
    const uvec4 kept_extents = problem.kept_extents;
    const uvec4 kept_strides = problem.kept_strides;
    ElementsOut y = ElementsOut(operand(1u));
    Row row;
    row.x = ElementsIn(operand(0u));
    row.count = problem.count;
    row.axes = problem.reduced_axes;
    row.extents = problem.reduced_extents;
    row.strides = problem.reduced_strides;
    for (uint i = first_row(); i < results; i += row_step()) {
        row.base = offset_of(i, kept_axes, kept_extents, kept_strides);
        STORED result = reduce_row(row);
#ifdef ELEMENT_U8
        if (problem.has_bools != 0u) {
            result = result != STORED(0) ? STORED(1) : STORED(0);
        }
#endif
        if (is_first_lane()) {
            y.at[i] = epilogue(widen(result), i);
        }
    }
}
