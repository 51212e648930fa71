#include "ops/elementwise/chain_types_vulkan.h"

#include <fmt/core.h>

#include <cmath>

#include "base/check.h"

namespace leat::vulkan {
namespace {

constexpr DTypeSet kNarrowFloatTypes =
    kByteFloatTypes | dtype_set(DType::kFloat16, DType::kBfloat16);

// Of narrow floats; types have their names in functions and constants of the shaders, too.
std::string float_of_bits(DType dtype, std::string_view bits) {
    return bits_of(dtype) == 16 || dtype == DType::kFloat8E8M0
               ? fmt::format("f32_of_{}({})", name_of(dtype), bits)
               : fmt::format("f32_of_small({}, {})", bits, name_of(dtype));
}

std::string bits_of_float(DType dtype, std::string_view value, const NarrowOptions& narrow) {
    if (bits_of(dtype) == 16) {
        return fmt::format("{}_of({})", name_of(dtype), value);
    }
    return dtype == DType::kFloat8E8M0
               ? fmt::format("f8e8m0_of({}, {}, {}u)", value, narrow.saturate,
                             uint32_t(narrow.e8m0_round))
               : fmt::format("small_of({}, {}, {})", value, narrow.saturate, name_of(dtype));
}

// What lies beyond the integers of the type becomes the nearest of them.
std::string saturated(DType from, DType to, std::string_view value) {
    const int bits = bits_of(to);
    const bool is_signed = contains(kSignedTypes, to);
    const std::string_view type = value_type(to);
    const std::string_view real = from == DType::kFloat64 ? "double" : "float";
    const uint64_t high = ~uint64_t{0} >> (64 - bits + (is_signed ? 1 : 0));
    const uint64_t low = is_signed ? ~high : 0;
    // Powers of two: exact as float.
    const double above = std::ldexp(1.0, is_signed ? bits - 1 : bits);
    const double below = is_signed ? -above : 0.0;
    const auto literal = [&](uint64_t element) {
        return bits == 64 ? fmt::format("{}({:#x}ul)", type, element)
                          : fmt::format("{}({:#x}u)", type, uint32_t(element));
    };
    return fmt::format("saturate({}({}), {}({:.1f}), {}({:.1f}), {}, {})", real, value, real, below,
                       real, above, literal(low), literal(high));
}

}  // namespace

std::string_view value_type(DType dtype) {
    switch (dtype) {
        case DType::kFloat32:
        case DType::kFloat16:
        case DType::kBfloat16:
        case DType::kFloat8E4M3FN:
        case DType::kFloat8E4M3FNUZ:
        case DType::kFloat8E5M2:
        case DType::kFloat8E5M2FNUZ:
        case DType::kFloat8E8M0:
            return "float";
        case DType::kFloat64:
            return "double";
        case DType::kInt8:
        case DType::kInt16:
        case DType::kInt32:
            return "int";
        case DType::kUint8:
        case DType::kUint16:
        case DType::kUint32:
            return "uint";
        case DType::kInt64:
            return "int64_t";
        case DType::kUint64:
            return "uint64_t";
        case DType::kBool:
            return "bool";
        default:
            LEAT_CHECK(false, "no kernel computes with {}", name_of(dtype));
    }
}

std::string_view bits_type(DType dtype) {
    return bits_of(dtype) == 64 ? "uvec2" : "uint";
}

std::string_view stored_type(DType dtype) {
    switch (bits_of(dtype)) {
        case 8:
            return "uint8_t";
        case 16:
            return "uint16_t";
        default:
            return bits_type(dtype);
    }
}

std::string_view stored4_type(DType dtype) {
    switch (bits_of(dtype)) {
        case 8:
            return "uint";
        case 16:
            return "uvec2";
        default:
            return "uvec4";
    }
}

std::string part_of_four(DType dtype, std::string_view four, int i) {
    constexpr std::string_view kComponents = "xyzw";
    switch (bits_of(dtype)) {
        case 8:
            return fmt::format("bitfieldExtract({}, {}, 8)", four, 8 * i);
        case 16:
            return fmt::format("bitfieldExtract({}.{}, {}, 16)", four, kComponents[size_t(i / 2)],
                               16 * (i % 2));
        default:
            return fmt::format("{}.{}", four, kComponents[size_t(i)]);
    }
}

std::string four_of_parts(DType dtype, const std::array<std::string, 4>& parts) {
    const auto& [a, b, c, d] = parts;
    switch (bits_of(dtype)) {
        case 8:
            return fmt::format("{} | {} << 8 | {} << 16 | {} << 24", a, b, c, d);
        case 16:
            return fmt::format("uvec2({} | {} << 16, {} | {} << 16)", a, b, c, d);
        default:
            return fmt::format("uvec4({}, {}, {}, {})", a, b, c, d);
    }
}

bool is_real(DType dtype) {
    return contains(kFloatTypes | kByteFloatTypes, dtype);
}

bool is_64_bit(DType dtype) {
    return bits_of(dtype) == 64;
}

std::string value_of_bits(DType dtype, std::string_view bits) {
    switch (dtype) {
        case DType::kFloat32:
            return fmt::format("uintBitsToFloat({})", bits);
        case DType::kFloat64:
            return fmt::format("packDouble2x32({})", bits);
        case DType::kInt64:
            return fmt::format("packInt2x32(ivec2({}))", bits);
        case DType::kUint64:
            return fmt::format("packUint2x32({})", bits);
        case DType::kInt8:
        case DType::kInt16:
            return fmt::format("bitfieldExtract(int({}), 0, {})", bits, bits_of(dtype));
        case DType::kBool:
            return fmt::format("({} != 0u)", bits);
        default:
            return contains(kNarrowFloatTypes, dtype)
                       ? float_of_bits(dtype, bits)
                       : fmt::format("{}({})", value_type(dtype), bits);
    }
}

std::string bits_of_value(DType dtype, std::string_view value, const NarrowOptions& narrow) {
    if (contains(kNarrowFloatTypes, dtype)) {
        return bits_of_float(dtype, value, narrow);
    }
    switch (dtype) {
        case DType::kFloat32:
            return fmt::format("floatBitsToUint({})", value);
        case DType::kFloat64:
            return fmt::format("unpackDouble2x32({})", value);
        case DType::kInt64:
            return fmt::format("uvec2(unpackInt2x32({}))", value);
        case DType::kUint64:
            return fmt::format("unpackUint2x32({})", value);
        case DType::kBool:
            return fmt::format("uint({})", value);
        default:
            return bits_of(dtype) == 32
                       ? fmt::format("uint({})", value)
                       : fmt::format("bitfieldExtract(uint({}), 0, {})", value, bits_of(dtype));
    }
}

std::string converted(DType from,
                      DType to,
                      std::string_view value,
                      bool is_stored_next,
                      const NarrowOptions& narrow) {
    if (from == to) {
        return std::string(value);
    }
    // Its least number is one that devices may flush to zero.
    if (from == DType::kFloat8E8M0 && to == DType::kBool) {
        return fmt::format("(floatBitsToUint({}) != 0u)", value);
    }
    if (from == DType::kFloat8E8M0 && to == DType::kFloat64) {
        return fmt::format("f64_of_f8e8m0({})", value);
    }
    if (to == DType::kBool) {
        return fmt::format("({} != {}(0))", value, value_type(from));
    }
    if (is_real(from) && !is_real(to)) {
        return saturated(from, to, value);
    }
    if (converts_by_double(from, to)) {
        return narrowed(to, fmt::format("double({})", value), narrow);
    }
    const std::string result = fmt::format("{}({})", value_type(to), value);
    return is_stored_next ? result : narrowed(to, result, narrow);
}

bool converts_by_double(DType from, DType to) {
    return contains(kNarrowFloatTypes, to) &&
           (from == DType::kFloat64 || (!is_real(from) && bits_of(from) > 16));
}

std::string narrowed(DType dtype, std::string_view value, const NarrowOptions& narrow) {
    if (contains(kNarrowFloatTypes, dtype)) {
        return float_of_bits(dtype, bits_of_float(dtype, value, narrow));
    }
    const int bits = bits_of(dtype);
    if (dtype == DType::kBool || bits >= 32 || is_real(dtype)) {
        return std::string(value);
    }
    return fmt::format("bitfieldExtract({}, 0, {})", value, bits);
}

}  // namespace leat::vulkan
