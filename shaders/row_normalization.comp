// y = (x - mean) / sqrt(variance + epsilon) * scale + bias over rows of x [rows, columns]:
// LayerNormalization, InstanceNormalization, where a row is a channel of an image, and
// RMSNormalization, whose mean counts as 0.
//   operands   0: x, 1: scale, 2: bias (any address where there is none), 3: y, which may be x,
//              4: mean and 5: 1 / deviation of each row, f32, where one is wanted
//   parameters rows, columns, epsilon; bits 0: there is a bias, 1: mean is wanted, 2: 1 / deviation is
//              wanted, 3: the mean counts as 0, 4: scale broadcasts to all axes of x, which count as
//              normalized ones then; channels, where scale and bias have an element for row % channels, 0: they
//              broadcast to the columns; normalized axes; extents of the normalized axes, strides of
//              scale, strides of bias, outermost first, in elements, kMaxRank of each
//   constants  0 to 2: see lanes.glsl
// The mean of a first pass is a shift for the second, which finds what the first one missed: so the
// variance does not cancel, and rows far from zero lose nothing. Any number of workgroups does.
#version 460
#extension GL_GOOGLE_include_directive : require

layout(local_size_x_id = 0) in;
#include "push_block.glsl"
#include "accumulate.glsl"
#include "long_sum.glsl"
#include "lanes.glsl"
#include "prologue.glsl"
#include "epilogue.glsl"

const uint kMaxRank = 8;

layout(buffer_reference, scalar, buffer_reference_align = 4) readonly buffer NormalizationProblem {
    uint rows;
    uint columns;
    float epsilon;
    uint wanted;
    uint channels;
    uint axes;
    uint extents[kMaxRank];
    uint scale_strides[kMaxRank];
    uint bias_strides[kMaxRank];
};

#ifdef ELEMENT_F64
double over_row(double value) {
    return value;  // never with lanes
}
double largest_of_row(double value) {
    return value;
}
#else
float largest_of_row(float value) {
    return over_lanes(kCombineMax, value);
}
float over_row(float value) {
    return over_lanes(kCombineSum, value);
}
#endif

WIDE rough_mean(ElementsIn x, uint base, uint columns) {
    LongSum sum = empty_sum();
    for (uint j = lane(); j < columns; j += lane_count()) {
        add_to(sum, loaded(x, base + j));
    }
    return over_row(value_of(sum)) / WIDE(columns);
}

// Means of d and d^2, d = x - shift.
void moments(ElementsIn x, uint base, uint columns, WIDE shift, out WIDE first, out WIDE second) {
    LongSum sum = empty_sum();
    LongSum squares = empty_sum();
    for (uint j = lane(); j < columns; j += lane_count()) {
        const WIDE delta = reloaded(x, base + j) - shift;
        add_to(sum, delta);
        add_to(squares, delta * delta);
    }
    first = over_row(value_of(sum)) / WIDE(columns);
    second = over_row(value_of(squares)) / WIDE(columns);
}

// At most 1, a power of two: by it squares of a row's elements do not overflow.
WIDE scale_for_squares(ElementsIn x, uint base, uint columns) {
    WIDE largest = WIDE(0);
    for (uint j = lane(); j < columns; j += lane_count()) {
        largest = max(largest, abs(loaded(x, base + j)));
    }
    largest = largest_of_row(largest);
    int exponent;
    frexp(largest, exponent);
    // Of what is no number there is no exponent.
    return largest > WIDE(1) && !isinf(largest) ? ldexp(WIDE(1), -exponent) : WIDE(1);
}

// The mean of the squares of the elements times `scale`.
WIDE mean_square(ElementsIn x, uint base, uint columns, WIDE scale) {
    LongSum squares = empty_sum();
    for (uint j = lane(); j < columns; j += lane_count()) {
        const WIDE value = reloaded(x, base + j) * scale;
        add_to(squares, value * value);
    }
    return over_row(value_of(squares)) / WIDE(columns);
}

// Where scale and bias of a row and column lie.
struct Places {
    uint channels;
    uint axes;
    uvec2 first_strides;  // of the outermost axis
};
uvec2 parameter_offsets(NormalizationProblem problem, Places places, uint row, uint column) {
    if (places.channels != 0u) {
        return uvec2(row % places.channels);
    }
    uvec2 offsets = uvec2(0u);
    for (uint axis = places.axes; axis-- > 1u;) {
        const uint index = column % problem.extents[axis];
        column /= problem.extents[axis];
        offsets += index * uvec2(problem.scale_strides[axis], problem.bias_strides[axis]);
    }
    return offsets + column * places.first_strides;
}

void main() {
    NormalizationProblem problem = NormalizationProblem(push.parameters);
    const uint rows = problem.rows;
    const uint columns = problem.columns;
    const WIDE epsilon = WIDE(problem.epsilon);
    const uint wanted = problem.wanted;
    const bool has_bias = (wanted & 1u) != 0u;
    const bool is_centred = (wanted & 8u) == 0u;
    const bool by_element = (wanted & 16u) != 0u;
    const Places places = Places(problem.channels, problem.axes,
                                 uvec2(problem.scale_strides[0], problem.bias_strides[0]));
    ElementsIn x = ElementsIn(operand(0u));
    ElementsIn scale = ElementsIn(operand(1u));
    ElementsIn bias = ElementsIn(operand(2u));
    ElementsOut y = ElementsOut(operand(3u));
    for (uint row = first_row(); row < rows; row += row_step()) {
        const uint base = row * columns;
        WIDE shift = WIDE(0);
        WIDE missed = WIDE(0);
        WIDE inverse_deviation;
        if (is_centred) {
            WIDE second;
            shift = rough_mean(x, base, columns);
            moments(x, base, columns, shift, missed, second);
            inverse_deviation = WIDE(1) / sqrt(second - missed * missed + epsilon);
        } else {
            const WIDE unit = scale_for_squares(x, base, columns);
            const WIDE squares = mean_square(x, base, columns, unit);
            inverse_deviation = unit / sqrt(squares + epsilon * unit * unit);
        }
        for (uint j = lane(); j < columns; j += lane_count()) {
            const uvec2 at = parameter_offsets(problem, places, row, by_element ? base + j : j);
            const WIDE offset = has_bias ? widen(bias.at[at.y]) : WIDE(0);
            const WIDE centred = (reloaded(x, base + j) - shift) - missed;
            y.at[base + j] =
                epilogue(centred * inverse_deviation * widen(scale.at[at.x]) + offset, base + j);
        }
        if (is_first_lane() && (wanted & 2u) != 0u) {
            FloatsOut(operand(4u)).at[row] = float(shift + missed);
        }
        if (is_first_lane() && (wanted & 4u) != 0u) {
            FloatsOut(operand(5u)).at[row] = float(inverse_deviation);
        }
    }
}
