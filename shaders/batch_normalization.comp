// BatchNormalization of x [images, channels, plane]: y = (x - mean) / sqrt(variance + epsilon) scale +
// bias by channel, and the statistics that training needs.
//   scalars    0: images, 1: channels, 2: plane, 3: epsilon, 4: momentum (floats), 5: bit 0: the
//              running mean is wanted, 1: the running variance is
//   constants  0 to 2: see lanes.glsl, 3: what to do:
// kApply       operands 0: x, 1: scale, 2: bias, 3: mean, 4: variance, 5: y, which may be x
// kApplyOwn    the same; mean and variance are those that kMoments wrote
// kMoments     operands 0: x, 1: old mean, 2: old variance, 3: mean and 4: variance of each channel, of
//              type WIDE; 5: running mean, 6: running variance (any address where not wanted)
// Any number of workgroups does.
#version 460
#extension GL_GOOGLE_include_directive : require

layout(local_size_x_id = 0) in;
#include "push_block.glsl"
#include "accumulate.glsl"
#include "long_sum.glsl"
#include "lanes.glsl"

layout(constant_id = 3) const uint kTask = 0;
const uint kApply = 0;
const uint kApplyOwn = 1;
const uint kMoments = 2;

layout(buffer_reference, scalar, buffer_reference_align = 8) buffer Wides {
    WIDE at[];
};

#ifdef ELEMENT_F64
double over_row(double value) {
    return value;  // never with lanes
}
#else
float over_row(float value) {
    return over_lanes(kCombineSum, value);
}
#endif

void apply() {
    const uint channels = push.scalars[1];
    const uint plane = push.scalars[2];
    const uint count = push.scalars[0] * channels * plane;
    const WIDE epsilon = WIDE(uintBitsToFloat(push.scalars[3]));
    ElementsIn x = ElementsIn(operand(0u));
    ElementsIn scale = ElementsIn(operand(1u));
    ElementsIn bias = ElementsIn(operand(2u));
    ElementsOut y = ElementsOut(operand(5u));
    for (uint i = linear_id(); i < count; i += linear_count()) {
        const uint c = i / plane % channels;
        WIDE mean;
        WIDE variance;
        if (kTask == kApplyOwn) {
            mean = Wides(operand(3u)).at[c];
            variance = Wides(operand(4u)).at[c];
        } else {
            mean = widen(ElementsIn(operand(3u)).at[c]);
            variance = widen(ElementsIn(operand(4u)).at[c]);
        }
        const WIDE factor = widen(scale.at[c]) / sqrt(variance + epsilon);
        y.at[i] = narrow((widen(x.at[i]) - mean) * factor + widen(bias.at[c]));
    }
}

// Means of d and d^2, d = x - shift, over a channel.
void channel_moments(uint c, WIDE shift, out WIDE first, out WIDE second) {
    const uint plane = push.scalars[2];
    const uint count = push.scalars[0] * plane;
    ElementsIn x = ElementsIn(operand(0u));
    LongSum sum = empty_sum();
    LongSum squares = empty_sum();
    for (uint j = lane(); j < count; j += lane_count()) {
        const uint at = (j / plane * push.scalars[1] + c) * plane + j % plane;
        const WIDE delta = widen(x.at[at]) - shift;
        add_to(sum, delta);
        add_to(squares, delta * delta);
    }
    first = over_row(value_of(sum)) / WIDE(count);
    second = over_row(value_of(squares)) / WIDE(count);
}

void write_running(uint index, uint c, WIDE old, WIDE current) {
    const WIDE momentum = WIDE(uintBitsToFloat(push.scalars[4]));
    const STORED running = narrow(momentum * old + (WIDE(1) - momentum) * current);
    if (index == 0u) {
        ElementsOut(operand(5u)).at[c] = running;
    } else {
        ElementsOut(operand(6u)).at[c] = running;
    }
}

void find_moments() {
    for (uint c = first_row(); c < push.scalars[1]; c += row_step()) {
        // The mean is a shift for the second pass, so that the variance does not cancel.
        WIDE shift;
        WIDE missed;
        WIDE second;
        channel_moments(c, WIDE(0), shift, second);
        channel_moments(c, shift, missed, second);
        const WIDE mean = shift + missed;
        const WIDE variance = second - missed * missed;
        if (!is_first_lane()) {
            continue;
        }
        Wides(operand(3u)).at[c] = mean;
        Wides(operand(4u)).at[c] = variance;
        if ((push.scalars[5] & 1u) != 0u) {
            write_running(0u, c, widen(ElementsIn(operand(1u)).at[c]), mean);
        }
        if ((push.scalars[5] & 2u) != 0u) {
            write_running(1u, c, widen(ElementsIn(operand(2u)).at[c]), variance);
        }
    }
}

void main() {
    if (kTask == kMoments) {
        find_moments();
    } else {
        apply();
    }
}
