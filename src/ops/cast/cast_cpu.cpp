// Plain loops between the common types.
#include <limits>
#include <memory>
#include <type_traits>

#include "base/float_formats.h"
#include "ops/cast/cast.h"
#include "ops/elementwise/row_kernel_cpu.h"
#include "ops/elementwise/row_loops_cpu.h"

namespace leat {

using cpu::Row;

namespace {

struct Bool {  // stored as a byte, any but 0 is true
    uint8_t byte;
};

template <class T>
inline constexpr bool kIsHalf = std::is_same_v<T, Float16> || std::is_same_v<T, BFloat16>;

template <class To, class From>
To convert(From x) {
    if constexpr (std::is_same_v<From, Bool>) {
        return convert<To>(uint8_t(x.byte != 0));
    } else if constexpr (std::is_same_v<To, Bool>) {
        if constexpr (kIsHalf<From>) {
            return Bool{uint8_t(to_float(x) != 0)};
        } else {
            return Bool{uint8_t(x != 0)};
        }
    } else if constexpr (kIsHalf<From>) {
        return convert<To>(to_float(x));
    } else if constexpr (std::is_same_v<To, Float16>) {
        return to_float16(float(x));
    } else if constexpr (std::is_same_v<To, BFloat16>) {
        return to_bfloat16(float(x));
    } else if constexpr (std::is_floating_point_v<From> && std::is_integral_v<To>) {
        // Saturates, NaN gives 0. Both limits are powers of two, exact in From.
        constexpr From kHigh = From(uint64_t{1} << (std::numeric_limits<To>::digits - 1)) * 2;
        constexpr From kLow = std::is_signed_v<To> ? -kHigh : From(0);
        if (!(x > kLow)) {
            return x == x ? std::numeric_limits<To>::min() : To(0);
        }
        return x >= kHigh ? std::numeric_limits<To>::max() : To(x);
    } else {
        return To(x);
    }
}

template <class From, class To>
void cast_row(const Row& row) {
    cpu::map_unary<From, To>(row, [](From x) { return convert<To>(x); });
}
template <class T>
void copy_row(const Row& row) {
    cpu::map_unary<T, T>(row, [](T x) { return x; });
}

struct CastRow {
    DType from;
    DType to;
    std::string_view name;
    cpu::RowFunction function;
    double ns_per_element;
};

constexpr DType kF32 = DType::kFloat32;
constexpr DType kF64 = DType::kFloat64;
constexpr DType kF16 = DType::kFloat16;
constexpr DType kBf16 = DType::kBfloat16;
constexpr DType kI32 = DType::kInt32;
constexpr DType kI64 = DType::kInt64;
constexpr DType kU8 = DType::kUint8;
constexpr DType kI8 = DType::kInt8;
constexpr DType kBool = DType::kBool;

constexpr CastRow kRows[] = {
    {kF32, kF64, "cast_f32_f64", cast_row<float, double>, 0.3},
    {kF32, kF16, "cast_f32_f16", cast_row<float, Float16>, 1},
    {kF32, kBf16, "cast_f32_bf16", cast_row<float, BFloat16>, 0.4},
    {kF32, kI32, "cast_f32_i32", cast_row<float, int32_t>, 0.6},
    {kF32, kI64, "cast_f32_i64", cast_row<float, int64_t>, 0.6},
    {kF32, kU8, "cast_f32_u8", cast_row<float, uint8_t>, 0.6},
    {kF32, kI8, "cast_f32_i8", cast_row<float, int8_t>, 0.6},
    {kF32, kBool, "cast_f32_bool", cast_row<float, Bool>, 0.2},
    {kF64, kF32, "cast_f64_f32", cast_row<double, float>, 0.3},
    {kF64, kI32, "cast_f64_i32", cast_row<double, int32_t>, 0.6},
    {kF64, kI64, "cast_f64_i64", cast_row<double, int64_t>, 0.6},
    {kF16, kF32, "cast_f16_f32", cast_row<Float16, float>, 1},
    {kBf16, kF32, "cast_bf16_f32", cast_row<BFloat16, float>, 0.3},
    {kI32, kF32, "cast_i32_f32", cast_row<int32_t, float>, 0.2},
    {kI32, kF64, "cast_i32_f64", cast_row<int32_t, double>, 0.3},
    {kI32, kI64, "cast_i32_i64", cast_row<int32_t, int64_t>, 0.2},
    {kI32, kBool, "cast_i32_bool", cast_row<int32_t, Bool>, 0.2},
    {kI64, kF32, "cast_i64_f32", cast_row<int64_t, float>, 0.5},
    {kI64, kF64, "cast_i64_f64", cast_row<int64_t, double>, 0.5},
    {kI64, kI32, "cast_i64_i32", cast_row<int64_t, int32_t>, 0.2},
    {kI64, kBool, "cast_i64_bool", cast_row<int64_t, Bool>, 0.3},
    {kU8, kF32, "cast_u8_f32", cast_row<uint8_t, float>, 0.2},
    {kU8, kI32, "cast_u8_i32", cast_row<uint8_t, int32_t>, 0.2},
    {kU8, kI64, "cast_u8_i64", cast_row<uint8_t, int64_t>, 0.3},
    {kI8, kF32, "cast_i8_f32", cast_row<int8_t, float>, 0.2},
    {kI8, kI32, "cast_i8_i32", cast_row<int8_t, int32_t>, 0.2},
    {kBool, kF32, "cast_bool_f32", cast_row<Bool, float>, 0.2},
    {kBool, kI32, "cast_bool_i32", cast_row<Bool, int32_t>, 0.2},
    {kBool, kI64, "cast_bool_i64", cast_row<Bool, int64_t>, 0.3},
    {kBool, kU8, "cast_bool_u8", cast_row<Bool, uint8_t>, 0.2},
    {kBool, kBool, "cast_bool_bool", cast_row<Bool, Bool>, 0.2},
};

// To the same type: a copy of elements of that size.
cpu::RowFunction copy_of(DType dtype) {
    switch (dtype == DType::kString ? 0 : bits_of(dtype)) {
        case 8:
            return copy_row<uint8_t>;
        case 16:
            return copy_row<uint16_t>;
        case 32:
            return copy_row<uint32_t>;
        case 64:
            return copy_row<uint64_t>;
        default:
            return nullptr;
    }
}

Result<std::unique_ptr<cpu::CpuKernel>> make_cast(cpu::PrepareContext& context) {
    const DType from = context.inputs[0].dtype;
    const DType to = context.outputs[0].dtype;
    cpu::RowKernelSpec spec;
    if (from == to && from != DType::kBool) {
        spec.name = "cast_copy";
        spec.function = copy_of(from);
        spec.ns_per_element = 0.1;
    }
    for (const CastRow& row : kRows) {
        if (row.from == from && row.to == to) {
            spec.name = row.name;
            spec.function = row.function;
            spec.ns_per_element = row.ns_per_element;
        }
    }
    if (spec.function == nullptr) {
        return std::unique_ptr<cpu::CpuKernel>();
    }
    return cpu::make_row_kernel(spec, context.outputs[0], context.inputs.first(1));
}

}  // namespace

std::span<const cpu::CpuKernelEntry> cast_cpu_kernels() {
    static constexpr cpu::CpuKernelEntry kEntries[] = {{"Cast", make_cast},
                                                       {"CastLike", make_cast}};
    return kEntries;
}

}  // namespace leat
