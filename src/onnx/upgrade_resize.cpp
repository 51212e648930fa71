// Upsample and Resize: one canonical form, Resize-19.
#include <algorithm>
#include <cstring>

#include "base/error.h"
#include "onnx/upgrade.h"

namespace leat::onnx {
namespace {

// Turns the node into Resize(x, absent roi, scales) as opsets up to 10 meant it.
Status make_asymmetric_resize(Upgrade& upgrade, ValueId scales, const char* nearest_mode) {
    NodeData& node = upgrade.node;
    std::optional<std::string> mode;
    LEAT_RETURN_IF_ERROR(upgrade.take("mode", mode));
    const bool linear = mode == "linear" || mode == "bilinear";
    node.op_type = "Resize";
    node.inputs.resize(1);
    upgrade.set_input(2, scales);
    upgrade.set_default("mode", std::string(linear ? "linear" : mode.value_or("nearest")));
    upgrade.set_default("coordinate_transformation_mode", std::string("asymmetric"));
    upgrade.set_default("nearest_mode", std::string(nearest_mode));
    return {};
}

Status upgrade_upsample(Upgrade& upgrade) {
    std::optional<std::vector<float>> scales;
    std::optional<float> height_scale;  // opset 1: images only
    std::optional<float> width_scale;
    LEAT_RETURN_IF_ERROR(upgrade.take("scales", scales));
    LEAT_RETURN_IF_ERROR(upgrade.take("height_scale", height_scale));
    LEAT_RETURN_IF_ERROR(upgrade.take("width_scale", width_scale));
    if (height_scale && width_scale) {
        scales = {1.0F, 1.0F, *height_scale, *width_scale};
    }
    if (!upgrade.has_input(0)) {
        return invalid_argument("input 0 is missing");
    }
    if (upgrade.has_input(1)) {
        return make_asymmetric_resize(upgrade, upgrade.node.inputs[1], "floor");
    }
    if (!scales) {
        return invalid_argument("there are no scales")
            .with_needed("the attribute or input 'scales'");
    }
    LEAT_ASSIGN_OR_RETURN(const ValueId input, upgrade.floats(*scales));
    return make_asymmetric_resize(upgrade, input, "floor");
}

// Opset 10 did not say how to round; its tests and other runtimes round up when shrinking.
Status upgrade_resize_10(Upgrade& upgrade) {
    if (!upgrade.has_input(0) || !upgrade.has_input(1)) {
        return invalid_argument("input 0 or 1 is missing");
    }
    const ValueId scales = upgrade.node.inputs[1];
    bool shrinks = false;
    if (const Tensor* tensor = upgrade.constant(scales);
        tensor != nullptr && tensor->dtype() == DType::kFloat32) {
        for (int64_t i = 0; i < tensor->element_count(); ++i) {
            float scale = 0;
            std::memcpy(&scale, tensor->bytes() + i * int64_t(sizeof(scale)), sizeof(scale));
            shrinks = shrinks || scale < 1;
        }
    }
    return make_asymmetric_resize(upgrade, scales, shrinks ? "ceil" : "floor");
}

// Whatever a request binds.
bool is_always_empty(const Upgrade& upgrade, size_t i) {
    if (!upgrade.has_input(i)) {
        return false;
    }
    const ValueId id = upgrade.node.inputs[i];
    const Tensor* tensor = upgrade.constant(id);
    if (tensor == nullptr || tensor->element_count() > 0) {
        return false;
    }
    const DefaultInput* input = upgrade.default_input(id);
    return input == nullptr ||
           (input->type.dims && std::any_of(input->type.dims->begin(), input->type.dims->end(),
                                            [](const DimSpec& dim) { return dim.extent() == 0; }));
}

// Opset 11 required all inputs, so what is unused is an empty tensor there. Absent is canonical.
Status drop_unused_inputs(Upgrade& upgrade) {
    NodeData& node = upgrade.node;
    const bool uses_roi =
        node.attr("coordinate_transformation_mode", "half_pixel") == "tf_crop_and_resize";
    if (upgrade.has_input(1) && (!uses_roi || is_always_empty(upgrade, 1))) {
        node.inputs[1] = ValueId{};
    }
    if (is_always_empty(upgrade, 3)) {
        node.inputs[3] = ValueId{};
    }
    if (is_always_empty(upgrade, 2) ||
        (node.opset < 13 && upgrade.has_input(2) && upgrade.has_input(3))) {
        node.inputs[2] = ValueId{};
    }
    return {};
}

constexpr AttributeSchema kUpsampleAttributes[] = {
    {.name = "height_scale", .kind = AttributeKind::kFloat, .before = 7, .is_required = true},
    {.name = "mode", .kind = AttributeKind::kString},
    {.name = "scales",
     .kind = AttributeKind::kFloats,
     .since = 7,
     .before = 9,
     .is_required = true},
    {.name = "width_scale", .kind = AttributeKind::kFloat, .before = 7, .is_required = true},
};

constexpr UpgradeRule kResizeRules[] = {
    {"Resize", 11, upgrade_resize_10},
    {"Resize", kAnyOpset, drop_unused_inputs},
    {"Upsample", kAnyOpset, upgrade_upsample, kUpsampleAttributes},
};

}  // namespace

std::span<const UpgradeRule> resize_rules() {
    return kResizeRules;
}

}  // namespace leat::onnx
