// Softmax family, BatchNormalization, GroupNormalization and Dropout: operators whose meaning
// changed, not only their form.
#include "base/error.h"
#include "onnx/upgrade.h"

namespace leat::onnx {
namespace {

// Before opset 13 the axes from `axis` on are taken together: the input is seen as a matrix.
Status upgrade_softmax(Upgrade& upgrade) {
    std::optional<int64_t> given;
    LEAT_RETURN_IF_ERROR(upgrade.take("axis", given));
    const int64_t axis = given.value_or(1);
    upgrade.set_default("axis", int64_t{-1});
    if (!upgrade.has_input(0) || !upgrade.has_output(0)) {
        return {};
    }
    const ValueId x = upgrade.node.inputs[0];
    const int rank = upgrade.rank(x);
    if (axis == -1 || (rank > 0 && axis == rank - 1)) {
        return {};
    }
    const ValueId shape = upgrade.emit("Shape", {x});
    upgrade.set_input(0, upgrade.emit("Flatten", {x}, {{"axis", axis}}));
    const ValueId result = upgrade.detach_output(0);
    upgrade.emit_after("Reshape", {upgrade.node.outputs[0], shape}, result,
                       {{"allowzero", int64_t{1}}});
    return {};
}

// spatial=0 normalises every element of a sample by its own mean and variance, all of shape [C, D1,
// ...]: arithmetic with numpy broadcasting over the batch.
Status expand_elementwise(Upgrade& upgrade) {
    NodeData& node = upgrade.node;
    std::optional<float> epsilon;
    LEAT_RETURN_IF_ERROR(upgrade.take("epsilon", epsilon));
    for (size_t i = 0; i < 5; ++i) {
        if (!upgrade.has_input(i)) {
            return invalid_argument("input {} is missing", i);
        }
    }
    LEAT_ASSIGN_OR_RETURN(const ValueId eps,
                          upgrade.scalar(upgrade.dtype(node.inputs[0]), epsilon.value_or(1e-5F)));
    const ValueId centred = upgrade.emit("Sub", {node.inputs[0], node.inputs[3]});
    const ValueId deviation = upgrade.emit("Sqrt", {upgrade.emit("Add", {node.inputs[4], eps})});
    const ValueId factor = upgrade.emit("Div", {node.inputs[1], deviation});
    const ValueId scaled = upgrade.emit("Mul", {centred, factor});
    node.op_type = "Add";
    node.inputs = {scaled, node.inputs[2]};
    node.attributes.clear();
    return {};
}

// Before opset 14 a node trains when it has more outputs than one (opsets 1 and 6: unless is_test).
Status upgrade_batch_normalization(Upgrade& upgrade) {
    NodeData& node = upgrade.node;
    std::optional<int64_t> is_test;
    std::optional<int64_t> spatial;
    LEAT_RETURN_IF_ERROR(upgrade.take("is_test", is_test));
    LEAT_RETURN_IF_ERROR(upgrade.take("spatial", spatial));
    const bool trains =
        is_test.value_or(0) == 0 && (upgrade.has_output(1) || upgrade.has_output(2));
    if (upgrade.has_output(3) || upgrade.has_output(4)) {
        return unsupported("the outputs saved_mean and saved_var of old opsets are not supported")
            .with_found(fmt::format("{} outputs", node.outputs.size()))
            .with_needed("1 or 3");
    }
    node.outputs.resize(trains ? 3 : 1);
    if (spatial.value_or(1) == 0) {
        return trains ? unsupported("spatial=0 is not supported in training")
                      : expand_elementwise(upgrade);
    }
    if (trains) {
        upgrade.set_default("training_mode", int64_t{1});
    }
    return {};
}

// Before opset 12 a node has no way to ask for training but its place in a training graph; here it
// passes its input on. The mask, of ones, had the type of the data before opset 10.
Status upgrade_dropout(Upgrade& upgrade) {
    NodeData& node = upgrade.node;
    upgrade.drop("ratio");
    upgrade.drop("is_test");
    node.inputs.resize(std::min<size_t>(node.inputs.size(), 1));
    if (node.opset < 10 && upgrade.has_output(1) && upgrade.has_input(0)) {
        const DType dtype = upgrade.dtype(node.inputs[0]);
        const ValueId mask = upgrade.detach_output(1);
        const auto to = int64_t(dtype == DType::kUndefined ? DType::kFloat32 : dtype);
        upgrade.emit_after("Cast", {node.outputs[1]}, mask, {{"to", to}});
    }
    return {};
}

// Before opset 21 scale and bias have an element for each group, not for each channel.
Status upgrade_group_normalization(Upgrade& upgrade) {
    const int64_t groups = upgrade.node.attr("num_groups", int64_t{0});
    if (groups < 1 || !upgrade.has_input(0) || !upgrade.has_input(1) || !upgrade.has_input(2)) {
        return {};  // what is missing is an error of its own
    }
    LEAT_ASSIGN_OR_RETURN(const ValueId count, upgrade.int64s({groups}));
    LEAT_ASSIGN_OR_RETURN(const ValueId column, upgrade.int64s({groups, 1}));
    const ValueId channels = upgrade.emit("Shape", {upgrade.node.inputs[0]},
                                          {{"start", int64_t{1}}, {"end", int64_t{2}}});
    const ValueId in_group = upgrade.emit("Div", {channels, count});
    const ValueId matrix = upgrade.emit("Concat", {count, in_group}, {{"axis", int64_t{0}}});
    for (size_t i = 1; i < 3; ++i) {
        const ValueId by_group = upgrade.emit("Reshape", {upgrade.node.inputs[i], column});
        const ValueId repeated = upgrade.emit("Expand", {by_group, matrix});
        upgrade.set_input(
            i, upgrade.emit("Reshape", {repeated, channels}, {{"allowzero", int64_t{1}}}));
    }
    return {};
}

constexpr UpgradeRule kNormalizationRules[] = {
    {"BatchNormalization", 14, upgrade_batch_normalization},
    {"Dropout", 12, upgrade_dropout},
    {"GroupNormalization", 21, upgrade_group_normalization},
    {"Hardmax", 13, upgrade_softmax},
    {"LogSoftmax", 13, upgrade_softmax},
    {"Softmax", 13, upgrade_softmax},
};

}  // namespace

std::span<const UpgradeRule> normalization_rules() {
    return kNormalizationRules;
}

}  // namespace leat::onnx
