// Softmax, LogSoftmax or Hardmax along one axis of x [outer, extent, inner].
//   operands   0: x, 1: y, dense; y may be x
//   parameters rows (outer * inner), extent, inner
//   constants  0 to 2: see lanes.glsl, 3: kSoftmax, kLogSoftmax or kHardmax
// Rows that hold +inf or NaN give NaN; all -inf, too. Any number of workgroups does.
#version 460
#extension GL_GOOGLE_include_directive : require

layout(local_size_x_id = 0) in;
#include "push_block.glsl"
#include "accumulate.glsl"
#include "long_sum.glsl"
#include "real_math.glsl"
#include "lanes.glsl"
#include "prologue.glsl"
#include "epilogue.glsl"

layout(buffer_reference, scalar, buffer_reference_align = 4) readonly buffer SoftmaxProblem {
    uint rows;
    uint extent;
    uint inner;
};

layout(constant_id = 3) const uint kKind = 0;
const uint kSoftmax = 0;
const uint kLogSoftmax = 1;
const uint kHardmax = 2;

#ifdef ELEMENT_F64
double over_row(uint how, double value) {
    return value;  // never with lanes
}
#else
float over_row(uint how, float value) {
    return over_lanes(how, value);
}
#endif

// Elements of a row: x.at[base + j * stride].
WIDE largest_of(ElementsIn x, uint base, uint extent, uint stride) {
    WIDE best = -INFINITY;
    for (uint j = lane(); j < extent; j += lane_count()) {
        const WIDE value = loaded(x, base + j * stride);
        best = isnan(value) || value > best ? value : best;
    }
    return over_row(kCombineMax, best);
}

WIDE sum_of_exp(ElementsIn x, uint base, uint extent, uint stride, WIDE largest) {
    LongSum sum = empty_sum();
    for (uint j = lane(); j < extent; j += lane_count()) {
        add_to(sum, real_exp(reloaded(x, base + j * stride) - largest));
    }
    return over_row(kCombineSum, value_of(sum));
}

// The first element that no later one exceeds; a NaN exceeds every number. Only with one invocation a
// row.
uint first_largest(ElementsIn x, uint base, uint extent, uint stride) {
    uint best = 0u;
    WIDE largest = loaded(x, base);
    for (uint j = 1u; j < extent; ++j) {
        const WIDE value = loaded(x, base + j * stride);
        if (value > largest || (isnan(value) && !isnan(largest))) {
            best = j;
            largest = value;
        }
    }
    return best;
}

void main() {
    SoftmaxProblem problem = SoftmaxProblem(push.parameters);
    const uint rows = problem.rows;
    const uint extent = problem.extent;
    const uint inner = problem.inner;
    ElementsIn x = ElementsIn(operand(0u));
    ElementsOut y = ElementsOut(operand(1u));
    for (uint row = first_row(); row < rows; row += row_step()) {
        const uint base = row / inner * extent * inner + row % inner;
        if (kKind == kHardmax) {
            const uint best = first_largest(x, base, extent, inner);
            for (uint j = 0u; j < extent; ++j) {
                y.at[base + j * inner] = epilogue(WIDE(j == best ? 1 : 0), base + j * inner);
            }
            continue;
        }
        const WIDE largest = largest_of(x, base, extent, inner);
        const WIDE sum = sum_of_exp(x, base, extent, inner, largest);
        const WIDE log_sum = kKind == kLogSoftmax ? real_log(sum) : WIDE(0);
        for (uint j = lane(); j < extent; j += lane_count()) {
            const uint at = base + j * inner;
            const WIDE shifted = reloaded(x, at) - largest;
            y.at[at] =
                epilogue(kKind == kLogSoftmax ? shifted - log_sum : real_exp(shifted) / sum, at);
        }
    }
}
