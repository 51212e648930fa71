// QuantizeLinear: y = saturate(round(x / scale) + zero), and DequantizeLinear: y = (x - zero) scale.
//   operands   0: x, 1: scale, 2: zero (any address where there is none), 3: y
//   scalars    0: elements, below 2^31; 1: which scale belongs to an element, a kGrid... below;
//              2: extent of the axis; 3: elements behind it; 4: indices of the axis in a block;
//              5: blocks along the axis; 6: 1 where there is a zero point
//   constants  0: workgroup size, 1: 1 for DequantizeLinear; types (leat's DType): 2: x, 3: scale,
//              4: y, 5: what the quotient is rounded to; 6: 1 where 8-bit floats saturate
// Floating y have no zero point.
// Any number of workgroups in x does.
#version 460
#extension GL_GOOGLE_include_directive : require

layout(local_size_x_id = 0) in;
#include "push_block.glsl"
#include "quantized_numbers.glsl"

layout(constant_id = 1) const uint kIsBack = 0;
layout(constant_id = 2) const uint kX = 1;
layout(constant_id = 3) const uint kScale = 1;
layout(constant_id = 4) const uint kY = 2;
layout(constant_id = 5) const uint kPrecision = 1;
layout(constant_id = 6) const uint kSaturates = 1;

const uint kGridTensor = 0;
const uint kGridAxis = 1;

#include "elementwise_numbers.glsl"
#include "elementwise_small_floats.glsl"

bool is_small_float(uint type) {
    return type >= kF8e4m3fn && type <= kF8e5m2fnuz;
}

SmallFormat format_of(uint type) {
    switch (type) {
        case kF8e4m3fn:
            return f8e4m3fn;
        case kF8e4m3fnuz:
            return f8e4m3fnuz;
        case kF8e5m2:
            return f8e5m2;
        default:
            return f8e5m2fnuz;
    }
}

float load_float(uvec2 tensor, uint i, uint type) {
    switch (type) {
        case kF16:
            return f32_of_f16(uint(Elements16(tensor).at[i]));
        case kBf16:
            return f32_of_bf16(uint(Elements16(tensor).at[i]));
        case kI32:
            return float(int(Elements32(tensor).at[i]));
        case kF8e4m3fn:
        case kF8e4m3fnuz:
        case kF8e5m2:
        case kF8e5m2fnuz:
            return f32_of_small(uint(Elements8(tensor).at[i]), format_of(type));
        case kF8e8m0:
            return f32_of_f8e8m0(uint(Elements8(tensor).at[i]));
        default:
            return uintBitsToFloat(Elements32(tensor).at[i]);
    }
}

float rounded(float x, uint type) {
    return type == kF16    ? f32_of_f16(f16_of(x))
           : type == kBf16 ? f32_of_bf16(bf16_of(x))
                           : x;
}

uint scale_index(uint i) {
    const uint extent = push.scalars[2];
    const uint inner = push.scalars[3];
    const uint k = i / inner % extent;
    if (push.scalars[1] == kGridTensor) {
        return 0u;
    }
    if (push.scalars[1] == kGridAxis) {
        return k;
    }
    return (i / inner / extent * push.scalars[5] + k / push.scalars[4]) * inner + i % inner;
}

// x - zero rounded once: the difference of two i32 has 33 bits.
float difference(int x, int zero) {
    const float magnitude = float(x < zero ? uint(zero) - uint(x) : uint(x) - uint(zero));
    return x < zero ? -magnitude : magnitude;
}

// x less the zero point.
float steps_of(uvec2 x, uint i, uvec2 zero, uint k, bool has_zero) {
    if (is_small_float(kX)) {
        return load_float(x, i, kX) - (has_zero ? load_float(zero, k, kX) : 0.0);
    }
    return difference(load_integer(x, i, kX), has_zero ? load_integer(zero, k, kX) : 0);
}

void main() {
    const uvec2 x = operand(0u);
    const uvec2 scale = operand(1u);
    const uvec2 zero = operand(2u);
    const uvec2 y = operand(3u);
    const bool has_zero = push.scalars[6] != 0u;
    for (uint i = linear_id(); i < push.scalars[0]; i += linear_count()) {
        const uint k = scale_index(i);
        if (kIsBack != 0u) {
            const float steps = steps_of(x, i, zero, k, has_zero);
            precise const float value = steps * load_float(scale, k, kScale);
            if (kY == kF32) {
                Elements32(y).at[i] = floatBitsToUint(value);
            } else {
                Elements16(y).at[i] = uint16_t(kY == kF16 ? f16_of(value) : bf16_of(value));
            }
        } else {
            const float above = rounded(load_float(x, i, kX), kPrecision);
            const float below = rounded(load_float(scale, k, kScale), kPrecision);
            precise const float exact = above / below;
            const float quotient = rounded(exact, kPrecision);
            if (is_small_float(kY)) {
                Elements8(y).at[i] =
                    uint8_t(small_of(quotient, kSaturates != 0u, format_of(kY)));
            } else {
                const int offset = has_zero ? load_integer(zero, k, kY) : 0;
                store_integer(y, i, kY, saturated(quotient, offset, kY));
            }
        }
    }
}
