// f32 by Highway functions, int32 and int64 by plain loops; up to kMaxRowInputs inputs.
#include <algorithm>
#include <array>
#include <cmath>
#include <memory>

#include "ops/elementwise/binary_f32.h"
#include "ops/elementwise/row_kernel_cpu.h"
#include "ops/elementwise/row_loops_cpu.h"
#include "ops/variadic/variadic.h"

namespace leat {

using cpu::Row;

namespace {

struct VariadicF32 {
    BinaryF32 combine = nullptr;
    BinaryF32 multiply = nullptr;
    float factor = 1;  // of the result
};

// Sums of large numbers may be infinite where their mean is none. In pieces, because y may lie over
// an input.
void run_mean_f32(const Row& row) {
    const auto& f = *static_cast<const VariadicF32*>(row.state);
    constexpr int64_t kPiece = 256;
    std::array<float, kPiece> means{};
    cpu::for_contiguous<float, cpu::kMaxRowInputs>(
        row, [&](const auto& x, const auto& strides, float* y, int64_t n) {
            const auto inputs = size_t(row.input_count);
            const auto by_double = [&](int64_t i) {
                double sum = 0;
                for (size_t k = 0; k < inputs; ++k) {
                    sum += double(x[k][i * strides[k]]);
                }
                return float(sum / double(inputs));
            };
            for (int64_t begin = 0; begin < n; begin += kPiece) {
                const int64_t count = std::min(n - begin, kPiece);
                const auto at = [&](size_t k) {
                    return F32Rows{x[k] + begin * strides[k], 0, strides[k]};
                };
                const F32Rows sums = {means.data(), 0, 1};
                f.combine(at(0), at(1), means.data(), 0, 1, count);
                for (size_t k = 2; k < inputs; ++k) {
                    f.combine(sums, at(k), means.data(), 0, 1, count);
                }
                f.multiply(sums, {&f.factor, 0, 0}, means.data(), 0, 1, count);
                for (int64_t i = 0; i < count; ++i) {
                    float& mean = means[size_t(i)];
                    mean = std::isfinite(mean) ? mean : by_double(begin + i);
                }
                std::copy_n(means.data(), count, y + begin);
            }
        });
}

// y of `rows` rows of n elements, where operand(i) is input i.
template <class Operand>
void combine_rows(const Row& row,
                  const Operand& operand,
                  float* y,
                  int64_t y_row_stride,
                  int64_t rows,
                  int64_t n) {
    const auto& f = *static_cast<const VariadicF32*>(row.state);
    const float one = 1;
    if (row.input_count == 1) {
        f.multiply(operand(0), {&one, 0, 0}, y, y_row_stride, rows, n);
        return;
    }
    f.combine(operand(0), operand(1), y, y_row_stride, rows, n);
    for (size_t k = 2; k < size_t(row.input_count); ++k) {
        f.combine({y, y_row_stride, 1}, operand(k), y, y_row_stride, rows, n);
    }
}

void run_f32(const Row& row) {
    if (row.rows > 1) {
        const auto operand = [&row](size_t k) { return cpu::f32_rows(row, int(k)); };
        combine_rows(row, operand, row.result<float>(), row.output_row_stride, row.rows, row.count);
        return;
    }
    cpu::for_contiguous<float, cpu::kMaxRowInputs>(
        row, [&](const auto& x, const auto& strides, float* y, int64_t n) {
            const auto operand = [&](size_t k) { return F32Rows{x[k], 0, strides[k]}; };
            combine_rows(row, operand, y, 0, 1, n);
        });
}

template <class T, bool kLarger>
void run_integer(const Row& row) {
    cpu::for_contiguous<T, cpu::kMaxRowInputs>(
        row, [&](const auto& x, const auto& strides, T* y, int64_t n) {
            for (int64_t i = 0; i < n; ++i) {
                T result = x[0][i * strides[0]];
                for (size_t k = 1; k < size_t(row.input_count); ++k) {
                    const T value = x[k][i * strides[k]];
                    result = kLarger ? std::max(result, value) : std::min(result, value);
                }
                y[i] = result;
            }
        });
}

Result<std::unique_ptr<cpu::CpuKernel>> make_variadic(cpu::PrepareContext& context) {
    const std::string& op = context.node.op_type;
    const DType dtype = context.outputs[0].dtype;
    const size_t count = context.inputs.size();
    cpu::RowKernelSpec spec;
    if (count > size_t(cpu::kMaxRowInputs)) {
        return std::unique_ptr<cpu::CpuKernel>();
    }
    const bool larger = op == "Max";
    if (dtype == DType::kFloat32) {
        auto state = std::make_shared<VariadicF32>();
        state->combine = find_binary_f32(op == "Max" || op == "Min" ? op : "Add");
        state->multiply = find_binary_f32("Mul");
        state->factor = op == "Mean" ? 1 / float(count) : 1.0F;
        spec.name = "variadic_f32";
        spec.state = std::move(state);
        const bool is_mean = op == "Mean" && count > 1;
        spec.function = is_mean ? run_mean_f32 : run_f32;
        spec.takes_rows = !is_mean;
        spec.ns_per_element = 0.1 * double(count);
    } else if (dtype == DType::kInt32) {
        spec.name = "variadic_i32";
        spec.function = larger ? run_integer<int32_t, true> : run_integer<int32_t, false>;
        spec.ns_per_element = 0.7 * double(count);
    } else if (dtype == DType::kInt64) {
        spec.name = "variadic_i64";
        spec.function = larger ? run_integer<int64_t, true> : run_integer<int64_t, false>;
        spec.ns_per_element = 0.7 * double(count);
    } else {
        return std::unique_ptr<cpu::CpuKernel>();
    }
    return cpu::make_row_kernel(spec, context.outputs[0], context.inputs);
}

}  // namespace

std::span<const cpu::CpuKernelEntry> variadic_cpu_kernels() {
    static constexpr cpu::CpuKernelEntry kEntries[] = {{"Max", make_variadic},
                                                       {"Mean", make_variadic},
                                                       {"Min", make_variadic},
                                                       {"Sum", make_variadic}};
    return kEntries;
}

}  // namespace leat
