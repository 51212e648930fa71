// Elements of any real type as numbers, by a specialisation constant kType, which the shader
// declares before (a DType of leat). After push_block.glsl.
//   load_f32, store_f32    f16, bf16, f32
// and with WIDE, which needs shaderInt64 and shaderFloat64:
//   load_f64, store_f64    f16, bf16, f32, f64
//   load_i64, store_i64    all integers and bool; u64 are their bits, what does not fit loses its
//                          high bits, bool is value != 0
// Stores round to nearest, ties to even, in one step, and keep a NaN a NaN.
#if WIDE
#extension GL_EXT_shader_explicit_arithmetic_types : require
#endif

#include "dtypes.glsl"

bool is_real_type() {
    return kType == kF32 || kType == kF16 || kType == kBf16 || kType == kF64;
}

// GLSL leaves open how packHalf2x16 rounds.
uint half_bits(float x) {
    const uint bits = floatBitsToUint(x);
    const uint sign = bits >> 16 & 0x8000u;
    const uint magnitude = bits & 0x7fffffffu;
    if (magnitude > 0x7f800000u) {
        return sign | 0x7e00u;
    }
    if (magnitude >= 0x477ff000u) {  // rounds to 65536 or more
        return sign | 0x7c00u;
    }
    if (magnitude < 0x38800000u) {  // below 2^-14: the sum rounds to a multiple of 2^-24
        return sign | (floatBitsToUint(uintBitsToFloat(magnitude) + 0.5) - 0x3f000000u);
    }
    const uint rebiased = magnitude - 0x38000000u;
    return sign | (rebiased + 0xfffu + (rebiased >> 13 & 1u)) >> 13;
}

uint bfloat_bits(float x) {
    const uint bits = floatBitsToUint(x);
    return (bits & 0x7fffffffu) > 0x7f800000u ? bits >> 16 | 0x40u
                                              : bits + 0x7fffu + (bits >> 16 & 1u) >> 16;
}

float load_f32(uvec2 tensor, uint i) {
    switch (kType) {
        case kF16:
            return unpackHalf2x16(uint(Elements16(tensor).at[i])).x;
        case kBf16:
            return uintBitsToFloat(uint(Elements16(tensor).at[i]) << 16);
        default:
            return uintBitsToFloat(Elements32(tensor).at[i]);
    }
}

void store_f32(uvec2 tensor, uint i, float value) {
    switch (kType) {
        case kF16:
            Elements16(tensor).at[i] = uint16_t(half_bits(value));
            break;
        case kBf16:
            Elements16(tensor).at[i] = uint16_t(bfloat_bits(value));
            break;
        default:
            Elements32(tensor).at[i] = floatBitsToUint(value);
    }
}

#if WIDE
#include "round_to_odd.glsl"

double load_f64(uvec2 tensor, uint i) {
    if (kType == kF64) {
        return packDouble2x32(Elements64(tensor).at[i]);
    }
    return double(load_f32(tensor, i));
}

void store_f64(uvec2 tensor, uint i, double value) {
    if (kType == kF64) {
        Elements64(tensor).at[i] = unpackDouble2x32(value);
    } else if (kType == kF32) {
        store_f32(tensor, i, float(value));
    } else {
        store_f32(tensor, i, round_to_odd(value));
    }
}

int64_t load_i64(uvec2 tensor, uint i) {
    switch (kType) {
        case kU8:
        case kBool:
            return int64_t(uint(Elements8(tensor).at[i]));
        case kI8:
            return int64_t(bitfieldExtract(int(uint(Elements8(tensor).at[i])), 0, 8));
        case kU16:
            return int64_t(uint(Elements16(tensor).at[i]));
        case kI16:
            return int64_t(bitfieldExtract(int(uint(Elements16(tensor).at[i])), 0, 16));
        case kU32:
            return int64_t(Elements32(tensor).at[i]);
        case kI32:
            return int64_t(int(Elements32(tensor).at[i]));
        default:
            return int64_t(pack64(Elements64(tensor).at[i]));
    }
}

void store_i64(uvec2 tensor, uint i, int64_t value) {
    switch (kType) {
        case kBool:
            Elements8(tensor).at[i] = uint8_t(value != 0 ? 1u : 0u);
            break;
        case kU8:
        case kI8:
            Elements8(tensor).at[i] = uint8_t(uint(value) & 0xffu);
            break;
        case kU16:
        case kI16:
            Elements16(tensor).at[i] = uint16_t(uint(value) & 0xffffu);
            break;
        case kU32:
        case kI32:
            Elements32(tensor).at[i] = uint(value);
            break;
        default:
            Elements64(tensor).at[i] = unpack32(uint64_t(value));
    }
}
#endif
