// MaxPool and AveragePool over x [planes, d, h, w]; an invocation computes whole elements of y.
//   operands   0: x, 1: y, 2: index of each maximum, i64 (any address where not wanted)
//   scalars    0: planes, 1: 1 where indices are wanted, 2: 1 where positions of the padding count for
//              an average, 3: strides of an index along d, h and w, in elements (3 to 5), 6: bits of the
//              f32 that scales an average's elements, a power of two, so that no sum is infinite
//   parameters the window
//   constants  0: workgroup size, 1: 0 for the maximum, 1 for the average
// Of equal elements the first is the maximum, a NaN exceeds every number; of no element it is the
// lowest, its index -1. Any number of workgroups in x does.
#version 460
#extension GL_GOOGLE_include_directive : require

layout(local_size_x_id = 0) in;
#include "push_block.glsl"
#include "accumulate.glsl"
#ifndef ELEMENT_IS_INTEGER
#include "long_sum.glsl"
#endif
#include "window.glsl"

layout(constant_id = 1) const uint kIsAverage = 0;

layout(buffer_reference, scalar, buffer_reference_align = 4) readonly buffer Parameters {
    Window window;
};
layout(buffer_reference, scalar, buffer_reference_align = 8) writeonly buffer IndicesOut {
    uvec2 at[];  // halves of i64
};

WIDE lowest() {
#ifdef ELEMENT_IS_INTEGER
    return LOWEST;
#else
    return WIDE(uintBitsToFloat(0xff800000u));
#endif
}
bool is_no_number(WIDE x) {
#ifdef ELEMENT_IS_INTEGER
    return false;
#else
    return isnan(x);
#endif
}

int divide_up(int a, int b) {
    return a <= 0 ? 0 : (a - 1) / b + 1;
}
// Taps [x, y) along an axis that lie inside: 0 <= origin + t * step < extent.
ivec2 taps_inside(int origin, int step, int taps, int extent) {
    const int begin = min(taps, divide_up(-origin, step));
    return ivec2(begin, max(begin, min(taps, divide_up(extent - origin, step))));
}

// The taps of a window that lie inside x, by axis.
struct Taps {
    ivec2 of[3];
};
Taps taps_of(Window window, ivec3 origin) {
    Taps taps;
    for (int axis = 0; axis < 3; ++axis) {
        taps.of[axis] = taps_inside(origin[axis], int(window.dilation[axis]),
                                    int(window.taps[axis]), int(window.x_extents[axis]));
    }
    return taps;
}

// What an average is divided by.
uint divisor(Window window, Taps taps, uvec3 at) {
    uint result = 1u;
    for (int axis = 0; axis < 3; ++axis) {
        ivec2 counted = taps.of[axis];
        if (push.scalars[2] != 0u) {
            const int padded =
                window.pad_begin[axis] + int(window.x_extents[axis]) + window.pad_end[axis];
            counted = taps_inside(int(at[axis] * window.stride[axis]), int(window.dilation[axis]),
                                  int(window.taps[axis]), padded);
        }
        result *= uint(counted.y - counted.x);
    }
    return result;
}

struct Pooled {
    WIDE value;  // the maximum, or the scaled sum
    int number;  // of the maximum, row-major in the plane; -1: none
};
Pooled pool(Window window, Taps taps, ivec3 origin, ElementsIn x, uint base) {
    const ivec3 dilation = ivec3(window.dilation);
    const ivec3 extents = ivec3(window.x_extents);
    Pooled pooled = Pooled(lowest(), -1);
#ifndef ELEMENT_IS_INTEGER
    const WIDE scale = WIDE(uintBitsToFloat(push.scalars[6]));
    LongSum sum = empty_sum();
#endif
    for (int d = taps.of[0].x; d < taps.of[0].y; ++d) {
        for (int h = taps.of[1].x; h < taps.of[1].y; ++h) {
            const ivec2 outer = origin.xy + ivec2(d, h) * dilation.xy;
            const int row = (outer.x * extents.y + outer.y) * extents.z + origin.z;
            for (int w = taps.of[2].x; w < taps.of[2].y; ++w) {
                const int number = row + w * dilation.z;
                const WIDE value = widen(x.at[base + uint(number)]);
#ifndef ELEMENT_IS_INTEGER
                if (kIsAverage != 0u) {
                    add_to(sum, value * scale);
                    continue;
                }
#endif
                if (pooled.number < 0 || value > pooled.value ||
                    (is_no_number(value) && !is_no_number(pooled.value))) {
                    pooled = Pooled(value, number);
                }
            }
        }
    }
#ifndef ELEMENT_IS_INTEGER
    if (kIsAverage != 0u) {
        pooled.value = value_of(sum);
    }
#endif
    return pooled;
}

void store_index(uint i, uint base, int number, uvec3 extents) {
    uvec2 index = uvec2(0xffffffffu);
    if (number >= 0) {
        const uvec3 at = position_of(uint(number), extents);
        index = uvec2(base + at.x * push.scalars[3] + at.y * push.scalars[4] + at.z * push.scalars[5], 0u);
    }
    IndicesOut(operand(2u)).at[i] = index;
}

void main() {
    Parameters parameters = Parameters(push.parameters);
    const Window window = parameters.window;
    const uint plane = volume(window.y_extents);
    const uint count = push.scalars[0] * plane;
    ElementsIn x = ElementsIn(operand(0u));
    ElementsOut y = ElementsOut(operand(1u));
    for (uint i = linear_id(); i < count; i += linear_count()) {
        const uvec3 at = position_of(i % plane, window.y_extents);
        const ivec3 origin = window_origin(window, at);
        const Taps taps = taps_of(window, origin);
        const uint base = i / plane * volume(window.x_extents);
        Pooled pooled = pool(window, taps, origin, x, base);
#ifndef ELEMENT_IS_INTEGER
        if (kIsAverage != 0u) {
            pooled.value /= WIDE(divisor(window, taps, at));
            pooled.value /= WIDE(uintBitsToFloat(push.scalars[6]));
        }
#endif
        y.at[i] = narrow(pooled.value);
        if (kIsAverage == 0u && push.scalars[1] != 0u) {
            store_index(i, base, pooled.number, window.x_extents);
        }
    }
}
