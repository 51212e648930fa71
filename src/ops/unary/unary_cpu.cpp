// f32 by Highway functions, int32 and int64 by plain loops; any strides.
#include <algorithm>
#include <memory>
#include <vector>

#include "base/transformed.h"
#include "ops/elementwise/row_kernel_cpu.h"
#include "ops/elementwise/unary_f32.h"
#include "ops/unary/unary.h"

namespace leat {

using cpu::CpuKernel;
using cpu::PrepareContext;
using cpu::Row;

namespace {

void run_f32_row(const Row& row) {
    const auto& function = *static_cast<const UnaryF32Function*>(row.state);
    const float* x = row.input<float>(0);
    auto* y = reinterpret_cast<float*>(row.output);
    const int64_t x_stride = row.input_strides[0];
    const int64_t y_stride = row.output_stride;
    if (row.count == 1 || (x_stride == 1 && y_stride == 1)) {
        function(x, y, row.count);
        return;
    }
    constexpr int64_t kChunk = 256;
    float buffer[kChunk];
    for (int64_t begin = 0; begin < row.count; begin += kChunk) {
        const int64_t n = std::min(kChunk, row.count - begin);
        for (int64_t i = 0; i < n; ++i) {
            buffer[i] = x[(begin + i) * x_stride];
        }
        function(buffer, buffer, n);
        for (int64_t i = 0; i < n; ++i) {
            y[(begin + i) * y_stride] = buffer[i];
        }
    }
}

template <class T, class F>
void map_row(const Row& row, F f) {
    const T* x = row.input<T>(0);
    T* y = reinterpret_cast<T*>(row.output);
    if (row.input_strides[0] == 1 && row.output_stride == 1) {
        for (int64_t i = 0; i < row.count; ++i) {
            y[i] = f(x[i]);
        }
        return;
    }
    for (int64_t i = 0; i < row.count; ++i) {
        y[i * row.output_stride] = f(x[i * row.input_strides[0]]);
    }
}

template <class T>
T negate_wrapping(T x) {
    using Unsigned = std::make_unsigned_t<T>;
    return T(Unsigned(0) - Unsigned(x));
}
template <class T>
void abs_row(const Row& row) {
    map_row<T>(row, [](T x) { return x < 0 ? negate_wrapping(x) : x; });
}
template <class T>
void neg_row(const Row& row) {
    map_row<T>(row, [](T x) { return negate_wrapping(x); });
}
template <class T>
void sign_row(const Row& row) {
    map_row<T>(row, [](T x) { return T((x > 0) - (x < 0)); });
}
template <class T>
void relu_row(const Row& row) {
    map_row<T>(row, [](T x) { return x > 0 ? x : T(0); });
}

struct IntegerRow {
    std::string_view op_type;
    DType dtype;
    cpu::RowFunction function;
};
constexpr IntegerRow kIntegerRows[] = {
    {"Abs", DType::kInt32, abs_row<int32_t>},   {"Abs", DType::kInt64, abs_row<int64_t>},
    {"Neg", DType::kInt32, neg_row<int32_t>},   {"Neg", DType::kInt64, neg_row<int64_t>},
    {"Sign", DType::kInt32, sign_row<int32_t>}, {"Sign", DType::kInt64, sign_row<int64_t>},
    {"Relu", DType::kInt32, relu_row<int32_t>}, {"Relu", DType::kInt64, relu_row<int64_t>},
};

Result<std::unique_ptr<CpuKernel>> make_unary(PrepareContext& context) {
    const DType dtype = context.inputs[0].dtype;
    const std::string& op_type = context.node.op_type;
    cpu::RowKernelSpec spec;
    if (dtype == DType::kFloat32) {
        const auto function = find_unary_f32(op_type, context.node.attributes);
        if (!function) {
            return std::unique_ptr<CpuKernel>();
        }
        spec.name = "unary_f32";
        spec.function = run_f32_row;
        spec.state = std::make_shared<UnaryF32Function>(*function);
        spec.ns_per_element = function->ns_per_element;
        return cpu::make_row_kernel(spec, context.outputs[0], context.inputs.first(1));
    }
    for (const IntegerRow& row : kIntegerRows) {
        if (row.dtype == dtype && row.op_type == op_type) {
            spec.name = dtype == DType::kInt32 ? "unary_i32" : "unary_i64";
            spec.function = row.function;
            return cpu::make_row_kernel(spec, context.outputs[0], context.inputs.first(1));
        }
    }
    return std::unique_ptr<CpuKernel>();
}

}  // namespace

std::span<const cpu::CpuKernelEntry> unary_cpu_kernels() {
    static const std::vector<cpu::CpuKernelEntry> kEntries =
        transformed(unary_table(), [](const UnaryOp& op) {
            return cpu::CpuKernelEntry{op.name, make_unary};
        });
    return kEntries;
}

}  // namespace leat
