// Linear and cubic interpolation: y[index] = sum of x at the taps of all axes, weighted by the
// product of their weights. Integers are rounded to nearest, ties to even, and saturate.
//   operands   0: x, 1: y
//   scalars    0: count of y, below 2^31; 1: rank, at most kMaxRank; 2: taps of an element, the
//              product of all axes'; 3: bits of the f32 where an axis's first tap is -1
//              4: where the weights begin, in elements from the block's begin
//   parameters ResizeAxes; then the weights, f32 (WIDE=0) or f64 (WIDE=1), each at the place that
//              its index has in `taps`
//   constants  0: workgroup size, 1: type (leat's DType)
// WIDE=0 takes f32, WIDE=1 all types. Any number of workgroups in x does.
#version 460
#extension GL_GOOGLE_include_directive : require

layout(local_size_x_id = 0) in;
#include "push_block.glsl"
layout(constant_id = 1) const uint kType = 1;
#include "number_access.glsl"

const uint kMaxRank = 8;

// Outermost axis first. Index i of y along an axis takes the indices of x at
// taps[tap_begins + i * tap_counts] and after; an axis without taps takes x's index i.
layout(buffer_reference, scalar, buffer_reference_align = 8) readonly buffer ResizeAxes {
    uint y_extents[kMaxRank];
    uint x_strides[kMaxRank];
    uint tap_counts[kMaxRank];
    uint tap_begins[kMaxRank];
    int taps[];
};

#if WIDE
#include "nearest_even.glsl"
#define REAL double
#else
#define REAL float
#endif
layout(buffer_reference, scalar, buffer_reference_align = 8) readonly buffer Weights {
    REAL at[];
};

#if WIDE
REAL load(uvec2 x, uint i) {
    if (is_real_type()) {
        return load_f64(x, i);
    }
    return kType == kU64 ? double(uint64_t(load_i64(x, i))) : double(load_i64(x, i));
}

// Saturates a whole number into the type.
int64_t saturated(double value) {
    switch (kType) {
        case kU8:
            return int64_t(clamp(value, 0.0LF, 255.0LF));
        case kI8:
            return int64_t(clamp(value, -128.0LF, 127.0LF));
        case kU16:
            return int64_t(clamp(value, 0.0LF, 65535.0LF));
        case kI16:
            return int64_t(clamp(value, -32768.0LF, 32767.0LF));
        case kU32:
            return int64_t(clamp(value, 0.0LF, 4294967295.0LF));
        case kI32:
            return int64_t(clamp(value, -2147483648.0LF, 2147483647.0LF));
        case kU64:
            return value >= 18446744073709551616.0LF ? int64_t(-1)
                                                     : int64_t(uint64_t(max(value, 0.0LF)));
        case kI64:
            return value >= 9223372036854775808.0LF ? int64_t(0x7ffffffffffffffful)
                   : value < -9223372036854775808.0LF ? int64_t(0x8000000000000000ul)
                                                      : int64_t(value);
        default:  // bool
            return value != 0.0LF ? int64_t(1) : int64_t(0);
    }
}

void store(uvec2 y, uint i, REAL value) {
    if (is_real_type()) {
        store_f64(y, i, value);
    } else {
        store_i64(y, i, saturated(nearest_even(value)));
    }
}
#else
REAL load(uvec2 x, uint i) {
    return load_f32(x, i);
}
void store(uvec2 y, uint i, REAL value) {
    store_f32(y, i, value);
}
#endif

void main() {
    const uint rank = push.scalars[1];
    ResizeAxes axes = ResizeAxes(push.parameters);
    Weights weights = Weights(push.parameters);
    const uvec2 x = operand(0u);
    const uvec2 y = operand(1u);
    for (uint i = linear_id(); i < push.scalars[0]; i += linear_count()) {
        // Where the taps of each axis begin, and what axes without taps add.
        uint begins[kMaxRank];
        uint base = 0u;
        bool is_outside = false;
        uint left = i;
        for (uint axis = rank; axis-- > 0u;) {
            const uint index = left % axes.y_extents[axis];
            left /= axes.y_extents[axis];
            begins[axis] = axes.tap_begins[axis] + index * axes.tap_counts[axis];
            if (axes.tap_counts[axis] == 0u) {
                base += index * axes.x_strides[axis];
            } else {
                is_outside = is_outside || axes.taps[begins[axis]] < 0;
            }
        }
        REAL sum = REAL(uintBitsToFloat(push.scalars[3]));
        if (!is_outside) {
            sum = REAL(0.0);
            for (uint tap = 0u; tap < push.scalars[2]; ++tap) {
                uint rest = tap;
                uint x_at = base;
                REAL weight = REAL(1.0);
                for (uint axis = rank; axis-- > 0u;) {
                    const uint count = axes.tap_counts[axis];
                    if (count != 0u) {
                        const uint at = begins[axis] + rest % count;
                        rest /= count;
                        x_at += uint(axes.taps[at]) * axes.x_strides[axis];
                        weight *= weights.at[push.scalars[4] + at];
                    }
                }
                sum += weight * load(x, x_at);
            }
        }
        store(y, i, sum);
    }
}
