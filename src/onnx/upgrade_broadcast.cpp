// Before opset 7, broadcasting was asked for by attributes: with broadcast=1 the second operand's
// axes are those of the first from `axis` on (the last ones by default). The canonical form is
// numpy's, which aligns the last axes, so the operand gets trailing axes of extent 1.
#include "base/error.h"
#include "onnx/upgrade.h"

namespace leat::onnx {
namespace {

// The number of axes as a 1-D tensor of one element.
ValueId rank_of(Upgrade& upgrade, ValueId shape) {
    return upgrade.emit("Shape", {shape});
}

// b with ones behind its axes, in operators, because a rank is not known before the run.
Result<ValueId> align_dynamic(Upgrade& upgrade, ValueId a, ValueId b, int64_t axis) {
    const ValueId shape_b = upgrade.emit("Shape", {b});
    LEAT_ASSIGN_OR_RETURN(ValueId first, upgrade.int64s({axis}));
    const ValueId rank_a = rank_of(upgrade, upgrade.emit("Shape", {a}));
    if (axis < 0) {
        first = upgrade.emit("Add", {first, rank_a});
    }
    const ValueId after = upgrade.emit("Sub", {rank_a, first});
    const ValueId count = upgrade.emit("Sub", {after, rank_of(upgrade, shape_b)});
    const int64_t one = 1;
    LEAT_ASSIGN_OR_RETURN(Tensor value,
                          Tensor::from<int64_t>({1}, std::span<const int64_t>(&one, 1)));
    const ValueId ones = upgrade.emit("ConstantOfShape", {count}, {{"value", std::move(value)}});
    const ValueId target = upgrade.emit("Concat", {shape_b, ones}, {{"axis", int64_t{0}}});
    return upgrade.emit("Reshape", {b, target}, {{"allowzero", int64_t{1}}});
}

// b, so that numpy broadcasting lays its first axis on axis `axis` of a.
Result<ValueId> align(Upgrade& upgrade, ValueId a, ValueId b, int64_t axis) {
    const int rank_a = upgrade.rank(a);
    const int rank_b = upgrade.rank(b);
    if (rank_a < 0 || rank_b < 0) {
        return align_dynamic(upgrade, a, b, axis);
    }
    const int64_t first = axis < 0 ? axis + rank_a : axis;
    const int64_t trailing = rank_a - first - rank_b;
    if (first < 0 || trailing < 0 || rank_a > kMaxRank) {
        return invalid_argument("attribute 'axis' does not fit the operands")
            .with_found(fmt::format("axis {}, ranks {} and {}", axis, rank_a, rank_b))
            .with_needed(fmt::format("an axis from 0 to {}", rank_a - rank_b));
    }
    if (trailing == 0) {
        return b;
    }
    if (const Tensor* constant = upgrade.constant(b);
        constant != nullptr && upgrade.default_input(b) == nullptr) {
        Shape shape = constant->shape();
        for (int64_t i = 0; i < trailing; ++i) {
            shape.append(1);
        }
        return upgrade.add_constant(constant->reshaped(shape));
    }
    std::vector<int64_t> axes;
    for (int64_t i = 0; i < trailing; ++i) {
        axes.push_back(rank_b + i);
    }
    LEAT_ASSIGN_OR_RETURN(const ValueId axes_value, upgrade.int64s(axes));
    return upgrade.emit("Unsqueeze", {b, axes_value});
}

Status upgrade_binary(Upgrade& upgrade) {
    std::optional<int64_t> broadcast;
    std::optional<int64_t> axis;
    LEAT_RETURN_IF_ERROR(upgrade.take("broadcast", broadcast));
    LEAT_RETURN_IF_ERROR(upgrade.take("axis", axis));
    if (broadcast.value_or(0) == 0 || !axis || !upgrade.has_input(0) || !upgrade.has_input(1)) {
        return {};
    }
    LEAT_ASSIGN_OR_RETURN(const ValueId b,
                          align(upgrade, upgrade.node.inputs[0], upgrade.node.inputs[1], *axis));
    upgrade.set_input(1, b);
    return {};
}

// An extent of a matrix, or nothing where it is not known.
std::optional<int64_t> known_extent(const TypeInfo& type, int axis) {
    if (type.rank() != 2 || !(*type.dims)[size_t(axis)].is_fixed()) {
        return std::nullopt;
    }
    return (*type.dims)[size_t(axis)].extent();
}

// With broadcast=1 C broadcasts by numpy's rules, as later, else it has the result's shape. What is
// not known before the run broadcasts.
Status upgrade_gemm(Upgrade& upgrade) {
    std::optional<int64_t> broadcast;
    LEAT_RETURN_IF_ERROR(upgrade.take("broadcast", broadcast));
    if (broadcast.value_or(0) != 0 || !upgrade.has_input(0) || !upgrade.has_input(1) ||
        !upgrade.has_input(2)) {
        return {};
    }
    const NodeData& node = upgrade.node;
    const TypeInfo c = upgrade.type(node.inputs[2]);
    const auto m =
        known_extent(upgrade.type(node.inputs[0]), node.attr("transA", int64_t{0}) != 0 ? 1 : 0);
    const auto n =
        known_extent(upgrade.type(node.inputs[1]), node.attr("transB", int64_t{0}) != 0 ? 0 : 1);
    const bool fits_rows = !m || known_extent(c, 0).value_or(*m) == *m;
    const bool fits_columns = !n || known_extent(c, 1).value_or(*n) == *n;
    if (c.rank() < 0 || (c.rank() == 2 && fits_rows && fits_columns)) {
        return {};
    }
    return invalid_argument("without the attribute broadcast, C has to have the result's shape")
        .with_found(c.to_string())
        .with_needed(
            fmt::format("{} x {}", m ? std::to_string(*m) : "M", n ? std::to_string(*n) : "N"))
        .with_hint("set broadcast = 1, or save the model with opset 7 or later");
}

// A slope of one element for each channel; channels are axis 1.
Status upgrade_prelu(Upgrade& upgrade) {
    if (!upgrade.has_input(0) || !upgrade.has_input(1)) {
        return {};
    }
    const ValueId x = upgrade.node.inputs[0];
    const ValueId slope = upgrade.node.inputs[1];
    const int rank = upgrade.rank(x);
    if (upgrade.rank(slope) > 1 || upgrade.rank(slope) == 0 || (rank >= 0 && rank < 2)) {
        return {};
    }
    LEAT_ASSIGN_OR_RETURN(const ValueId aligned, align(upgrade, x, slope, 1));
    upgrade.set_input(1, aligned);
    return {};
}

constexpr UpgradeRule kBroadcastRules[] = {
    {"Add", 7, upgrade_binary},   {"And", 7, upgrade_binary}, {"Div", 7, upgrade_binary},
    {"Equal", 7, upgrade_binary}, {"Gemm", 7, upgrade_gemm},  {"Greater", 7, upgrade_binary},
    {"Less", 7, upgrade_binary},  {"Mul", 7, upgrade_binary}, {"Or", 7, upgrade_binary},
    {"PRelu", 7, upgrade_prelu},  {"Pow", 7, upgrade_binary}, {"Sub", 7, upgrade_binary},
    {"Xor", 7, upgrade_binary},
};

}  // namespace

std::span<const UpgradeRule> broadcast_rules() {
    return kBroadcastRules;
}

}  // namespace leat::onnx
