// f32 arithmetic by Highway functions; f64, int32 and int64 by plain loops.
#include <cmath>
#include <memory>
#include <type_traits>
#include <vector>

#include "base/transformed.h"
#include "ops/binary/binary.h"
#include "ops/elementwise/binary_f32.h"
#include "ops/elementwise/row_kernel_cpu.h"
#include "ops/elementwise/row_loops_cpu.h"

namespace leat {

using cpu::Row;

namespace {

void run_f32(const Row& row) {
    const auto function = *static_cast<const BinaryF32*>(row.state);
    if (row.rows > 1) {
        function(cpu::f32_rows(row, 0), cpu::f32_rows(row, 1), row.result<float>(),
                 row.output_row_stride, row.rows, row.count);
        return;
    }
    cpu::for_contiguous<float, 2>(
        row, [&](const auto& x, const auto& strides, float* z, int64_t n) {
            function({x[0], 0, strides[0]}, {x[1], 0, strides[1]}, z, 0, 1, n);
        });
}

// x^y; the exponents of squares, cubes and roots, once for a row, are worth their own loops.
void run_pow_f32(const Row& row) {
    const float exponent = *row.input<float>(1);
    if (row.input_strides[1] != 0) {
        cpu::map_binary<float, float>(row, [](float x, float y) { return std::pow(x, y); });
    } else if (exponent == 2) {
        cpu::map_unary<float, float>(row, [](float x) { return x * x; });
    } else if (exponent == 3) {
        cpu::map_unary<float, float>(row, [](float x) { return float(double(x) * x * x); });
    } else if (exponent == 0.5F) {
        // pow(-0, 0.5) is +0 and pow(-infinity, 0.5) is +infinity.
        cpu::map_unary<float, float>(
            row, [](float x) { return std::isinf(x) ? std::fabs(x) : std::sqrt(x + 0.0F); });
    } else {
        cpu::map_unary<float, float>(row, [exponent](float x) { return std::pow(x, exponent); });
    }
}

void run_fmod_f32(const Row& row) {
    cpu::map_binary<float, float>(row, [](float x, float y) { return std::fmod(x, y); });
}

// Integer arithmetic wraps: it is done on the unsigned type.
template <class T>
using Wrapping =
    std::conditional_t<std::is_floating_point_v<T>, std::common_type<T>, std::make_unsigned<T>>;

template <class T>
void add_row(const Row& row) {
    using U = typename Wrapping<T>::type;
    cpu::map_binary<T, T>(row, [](T x, T y) { return T(U(x) + U(y)); });
}
template <class T>
void sub_row(const Row& row) {
    using U = typename Wrapping<T>::type;
    cpu::map_binary<T, T>(row, [](T x, T y) { return T(U(x) - U(y)); });
}
template <class T>
void mul_row(const Row& row) {
    using U = typename Wrapping<T>::type;
    cpu::map_binary<T, T>(row, [](T x, T y) { return T(U(x) * U(y)); });
}
template <class T>
void div_row(const Row& row) {
    if constexpr (std::is_floating_point_v<T>) {
        cpu::map_binary<T, T>(row, [](T x, T y) { return x / y; });
    } else {
        using U = std::make_unsigned_t<T>;
        cpu::map_binary<T, T>(row, [](T x, T y) {
            return y == 0 ? T(0) : y == T(-1) ? T(U(0) - U(x)) : T(x / y);
        });
    }
}
template <class T>
void mod_row(const Row& row) {
    cpu::map_binary<T, T>(row, [](T x, T y) {
        if (y == 0 || y == T(-1)) {
            return T(0);
        }
        const T r = x % y;
        return r != 0 && (r < 0) != (y < 0) ? T(r + y) : r;
    });
}

struct TypedRow {
    std::string_view expression;
    DType dtype;
    std::string_view name;
    cpu::RowFunction function;
    double ns_per_element;
};
constexpr TypedRow kTypedRows[] = {
    {"Add", DType::kFloat64, "binary_f64", add_row<double>, 0.2},
    {"Add", DType::kInt32, "binary_i32", add_row<int32_t>, 0.1},
    {"Add", DType::kInt64, "binary_i64", add_row<int64_t>, 0.2},
    {"Div", DType::kFloat64, "binary_f64", div_row<double>, 1},
    {"Div", DType::kInt32, "binary_i32", div_row<int32_t>, 2},
    {"Div", DType::kInt64, "binary_i64", div_row<int64_t>, 3},
    {"Fmod", DType::kFloat32, "fmod_f32", run_fmod_f32, 10},
    {"Mod", DType::kInt32, "binary_i32", mod_row<int32_t>, 2},
    {"Mod", DType::kInt64, "binary_i64", mod_row<int64_t>, 3},
    {"Mul", DType::kFloat64, "binary_f64", mul_row<double>, 0.2},
    {"Mul", DType::kInt32, "binary_i32", mul_row<int32_t>, 0.2},
    {"Mul", DType::kInt64, "binary_i64", mul_row<int64_t>, 0.4},
    {"Pow", DType::kFloat32, "pow_f32", run_pow_f32, 10},
    {"Sub", DType::kFloat64, "binary_f64", sub_row<double>, 0.2},
    {"Sub", DType::kInt32, "binary_i32", sub_row<int32_t>, 0.1},
    {"Sub", DType::kInt64, "binary_i64", sub_row<int64_t>, 0.2},
};

Result<std::unique_ptr<cpu::CpuKernel>> make_binary(cpu::PrepareContext& context) {
    const auto inputs = context.inputs.first(2);
    if (inputs[0].dtype != inputs[1].dtype) {  // Pow with another type of exponent
        return std::unique_ptr<cpu::CpuKernel>();
    }
    const std::string_view expression = binary_expression(context.node);
    cpu::RowKernelSpec spec;
    if (inputs[0].dtype == DType::kFloat32) {
        if (const BinaryF32 function = find_binary_f32(expression); function != nullptr) {
            spec.name = "binary_f32";
            spec.function = run_f32;
            spec.takes_rows = true;
            spec.state = std::make_shared<BinaryF32>(function);
            spec.ns_per_element = 0.08;
            return cpu::make_row_kernel(spec, context.outputs[0], inputs);
        }
    }
    for (const TypedRow& row : kTypedRows) {
        if (row.dtype == inputs[0].dtype && row.expression == expression) {
            spec.name = row.name;
            spec.function = row.function;
            spec.takes_rows = row.function != run_pow_f32;  // which looks at one exponent
            spec.ns_per_element = row.ns_per_element;
            return cpu::make_row_kernel(spec, context.outputs[0], inputs);
        }
    }
    return std::unique_ptr<cpu::CpuKernel>();
}

}  // namespace

std::span<const cpu::CpuKernelEntry> binary_cpu_kernels() {
    static const std::vector<cpu::CpuKernelEntry> kEntries =
        transformed(binary_table(), [](const BinaryOp& op) {
            return cpu::CpuKernelEntry{op.name, make_binary};
        });
    return kEntries;
}

}  // namespace leat
