#include "leat/dtype.h"

#include <array>

namespace leat {
namespace {

struct DTypeRow {
    std::string_view name;
    int bits;
};

// Indexed by the number of the type.
constexpr std::array<DTypeRow, kDTypeCount> kRows = {{
    {"undefined", 0},  {"f32", 32},   {"u8", 8},
    {"i8", 8},         {"u16", 16},   {"i16", 16},
    {"i32", 32},       {"i64", 64},   {"string", 8 * sizeof(std::string)},
    {"bool", 8},       {"f16", 16},   {"f64", 64},
    {"u32", 32},       {"u64", 64},   {"c64", 64},
    {"c128", 128},     {"bf16", 16},  {"f8e4m3fn", 8},
    {"f8e4m3fnuz", 8}, {"f8e5m2", 8}, {"f8e5m2fnuz", 8},
    {"u4", 4},         {"i4", 4},     {"f4e2m1", 4},
    {"f8e8m0", 8},     {"u2", 2},     {"i2", 2},
    {"f6e2m3", 6},     {"f6e3m2", 6},
}};

}  // namespace

std::string_view name_of(DType dtype) {
    return is_known_dtype(dtype) ? kRows[size_t(dtype)].name : "unknown";
}

std::optional<DType> dtype_from_name(std::string_view name) {
    for (size_t i = 1; i < kRows.size(); ++i) {
        if (kRows[i].name == name) {
            return DType(i);
        }
    }
    return std::nullopt;
}

int bits_of(DType dtype) {
    return is_known_dtype(dtype) ? kRows[size_t(dtype)].bits : 0;
}

std::optional<int64_t> storage_bytes(DType dtype, int64_t elements) {
    int64_t bits = 0;
    if (!is_known_dtype(dtype) ||
        __builtin_mul_overflow(elements, int64_t(bits_of(dtype)), &bits) ||
        __builtin_add_overflow(bits, int64_t{7}, &bits)) {
        return std::nullopt;
    }
    return bits / 8;
}

}  // namespace leat
