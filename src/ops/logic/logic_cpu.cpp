// Plain loops for bool, f32, f64, int32 and int64.
#include <cmath>
#include <functional>
#include <memory>
#include <vector>

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

#define LEAT_COMPARISON(op_type, compare)                                                  \
    {op_type, DType::kFloat32, "compare_f32", compare_row<float, compare<float>>},         \
        {op_type, DType::kFloat64, "compare_f64", compare_row<double, compare<double>>},   \
        {op_type, DType::kInt32, "compare_i32", compare_row<int32_t, compare<int32_t>>}, { \
        op_type, DType::kInt64, "compare_i64", compare_row<int64_t, compare<int64_t>>      \
    }

constexpr LogicRow kRows[] = {
    LEAT_COMPARISON("Equal", std::equal_to),
    LEAT_COMPARISON("Greater", std::greater),
    LEAT_COMPARISON("GreaterOrEqual", std::greater_equal),
    LEAT_COMPARISON("Less", std::less),
    LEAT_COMPARISON("LessOrEqual", std::less_equal),
    {"And", DType::kBool, "logic_bool", and_row},
    {"Equal", DType::kBool, "logic_bool", equal_bool_row},
    {"IsInf", DType::kFloat32, "is_inf_f32", is_inf_row},
    {"IsNaN", DType::kFloat32, "is_nan_f32", is_nan_row},
    {"Not", DType::kBool, "logic_bool", not_row},
    {"Or", DType::kBool, "logic_bool", or_row},
    {"Xor", DType::kBool, "logic_bool", xor_row},
};
#undef LEAT_COMPARISON

Result<std::unique_ptr<cpu::CpuKernel>> make_logic(cpu::PrepareContext& context) {
    for (const LogicRow& row : kRows) {
        if (row.dtype != context.inputs[0].dtype || row.op_type != context.node.op_type) {
            continue;
        }
        cpu::RowKernelSpec spec;
        spec.name = row.name;
        spec.function = row.function;
        spec.ns_per_element = 0.15;
        if (row.function == is_inf_row) {
            spec.state = std::make_shared<InfinitySigns>(
                InfinitySigns{context.node.attr("detect_negative", int64_t{1}) != 0,
                              context.node.attr("detect_positive", int64_t{1}) != 0});
        }
        return cpu::make_row_kernel(spec, context.outputs[0], context.inputs);
    }
    return std::unique_ptr<cpu::CpuKernel>();
}

}  // namespace

std::span<const cpu::CpuKernelEntry> logic_cpu_kernels() {
    static const std::vector<cpu::CpuKernelEntry> entries = [] {
        std::vector<cpu::CpuKernelEntry> rows;
        for (const LogicOp& op : logic_table()) {
            rows.push_back({op.name, make_logic});
        }
        return rows;
    }();
    return entries;
}

}  // namespace leat
