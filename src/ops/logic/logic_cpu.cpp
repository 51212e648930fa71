// Plain loops for bool, f32, f64, int32 and int64.
#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <memory>
#include <vector>

#include "base/transformed.h"
#include "ops/elementwise/row_kernel_cpu.h"
#include "ops/elementwise/row_loops_cpu.h"
#include "ops/logic/logic.h"

namespace leat {

using cpu::Row;

namespace {

template <class T, class Compare>
void compare_row(const Row& row) {
    cpu::map_binary<T, uint8_t>(row, [](T x, T y) { return uint8_t(Compare()(x, y)); });
}
void equal_bool_row(const Row& row) {
    cpu::map_binary<uint8_t, uint8_t>(
        row, [](uint8_t x, uint8_t y) { return uint8_t((x != 0) == (y != 0)); });
}
void and_row(const Row& row) {
    cpu::map_binary<uint8_t, uint8_t>(
        row, [](uint8_t x, uint8_t y) { return uint8_t((x != 0) & (y != 0)); });
}
void or_row(const Row& row) {
    cpu::map_binary<uint8_t, uint8_t>(row,
                                      [](uint8_t x, uint8_t y) { return uint8_t((x | y) != 0); });
}
void xor_row(const Row& row) {
    cpu::map_binary<uint8_t, uint8_t>(
        row, [](uint8_t x, uint8_t y) { return uint8_t((x != 0) != (y != 0)); });
}
void not_row(const Row& row) {
    cpu::map_unary<uint8_t, uint8_t>(row, [](uint8_t x) { return uint8_t(x == 0); });
}
void is_nan_row(const Row& row) {
    cpu::map_unary<float, uint8_t>(row, [](float x) { return uint8_t(x != x); });
}

// What IsInf reports.
struct InfinitySigns {
    bool negative;
    bool positive;
};
void is_inf_row(const Row& row) {
    const auto& signs = *static_cast<const InfinitySigns*>(row.state);
    // Where a sign is not wanted, the bound is NaN, which equals nothing.
    const float low = signs.negative ? -HUGE_VALF : NAN;
    const float high = signs.positive ? HUGE_VALF : NAN;
    cpu::map_unary<float, uint8_t>(row, [=](float x) { return uint8_t((x == low) | (x == high)); });
}

struct LogicRow {
    std::string_view op_type;
    DType dtype;
    std::string_view name;
    cpu::RowFunction function;
};

template <template <class> class Compare>
constexpr std::array<LogicRow, 4> comparison_rows(std::string_view op_type) {
    return {{{op_type, DType::kFloat32, "compare_f32", compare_row<float, Compare<float>>},
             {op_type, DType::kFloat64, "compare_f64", compare_row<double, Compare<double>>},
             {op_type, DType::kInt32, "compare_i32", compare_row<int32_t, Compare<int32_t>>},
             {op_type, DType::kInt64, "compare_i64", compare_row<int64_t, Compare<int64_t>>}}};
}

constexpr std::array<LogicRow, 4> kComparisons[] = {
    comparison_rows<std::equal_to>("Equal"),
    comparison_rows<std::greater>("Greater"),
    comparison_rows<std::greater_equal>("GreaterOrEqual"),
    comparison_rows<std::less>("Less"),
    comparison_rows<std::less_equal>("LessOrEqual"),
};

constexpr LogicRow kOtherRows[] = {
    {"And", DType::kBool, "logic_bool", and_row},
    {"Equal", DType::kBool, "logic_bool", equal_bool_row},
    {"IsInf", DType::kFloat32, "is_inf_f32", is_inf_row},
    {"IsNaN", DType::kFloat32, "is_nan_f32", is_nan_row},
    {"Not", DType::kBool, "logic_bool", not_row},
    {"Or", DType::kBool, "logic_bool", or_row},
    {"Xor", DType::kBool, "logic_bool", xor_row},
};

// Null if there is none.
const LogicRow* find_row(std::string_view op_type, DType dtype) {
    const auto fits = [&](const LogicRow& row) {
        return row.dtype == dtype && row.op_type == op_type;
    };
    for (const auto& rows : kComparisons) {
        const auto* found = std::find_if(rows.begin(), rows.end(), fits);
        if (found != rows.end()) {
            return found;
        }
    }
    const auto* found = std::find_if(std::begin(kOtherRows), std::end(kOtherRows), fits);
    return found == std::end(kOtherRows) ? nullptr : found;
}

Result<std::unique_ptr<cpu::CpuKernel>> make_logic(cpu::PrepareContext& context) {
    const LogicRow* row = find_row(context.node.op_type, context.inputs[0].dtype);
    if (row == nullptr) {
        return std::unique_ptr<cpu::CpuKernel>();
    }
    cpu::RowKernelSpec spec;
    spec.name = row->name;
    spec.function = row->function;
    spec.takes_rows = context.inputs.size() == 2;
    spec.ns_per_element = 0.15;
    if (row->function == is_inf_row) {
        spec.state = std::make_shared<InfinitySigns>(
            InfinitySigns{context.node.attr("detect_negative", int64_t{1}) != 0,
                          context.node.attr("detect_positive", int64_t{1}) != 0});
    }
    return cpu::make_row_kernel(spec, context.outputs[0], context.inputs);
}

}  // namespace

std::span<const cpu::CpuKernelEntry> logic_cpu_kernels() {
    static const std::vector<cpu::CpuKernelEntry> kEntries =
        transformed(logic_table(), [](const LogicOp& op) {
            return cpu::CpuKernelEntry{op.name, make_logic};
        });
    return kEntries;
}

}  // namespace leat
