#include "onnx/upgrade.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <unordered_map>

#include "base/error.h"
#include "base/float_formats.h"
#include "graph/default_input.h"

namespace leat::onnx {
namespace {

template <class T>
Result<Tensor> scalar_of(double value) {
    const T element = T(value);
    return Tensor::from<T>(Shape{}, std::span<const T>(&element, 1));
}

// Saturates; NaN becomes 0.
template <class T>
Result<Tensor> integer_scalar(double value) {
    const auto low = double(std::numeric_limits<T>::min());
    const auto high = double(std::numeric_limits<T>::max());
    if (std::isnan(value)) {
        return scalar_of<T>(0);
    }
    T element = 0;
    if (value <= low) {
        element = std::numeric_limits<T>::min();
    } else if (value >= high) {
        element = std::numeric_limits<T>::max();
    } else {
        element = T(value);
    }
    return Tensor::from<T>(Shape{}, std::span<const T>(&element, 1));
}

Result<Tensor> typed_scalar(DType dtype, double value) {
    switch (dtype) {
        case DType::kUndefined:
        case DType::kFloat32:
            return scalar_of<float>(value);
        case DType::kFloat64:
            return scalar_of<double>(value);
        case DType::kFloat16: {
            const Float16 element = to_float16(value);
            return Tensor::from<Float16>(Shape{}, std::span<const Float16>(&element, 1));
        }
        case DType::kBfloat16: {
            const BFloat16 element = to_bfloat16(float(value));
            return Tensor::from<BFloat16>(Shape{}, std::span<const BFloat16>(&element, 1));
        }
        case DType::kInt8:
            return integer_scalar<int8_t>(value);
        case DType::kUint8:
            return integer_scalar<uint8_t>(value);
        case DType::kInt16:
            return integer_scalar<int16_t>(value);
        case DType::kUint16:
            return integer_scalar<uint16_t>(value);
        case DType::kInt32:
            return integer_scalar<int32_t>(value);
        case DType::kUint32:
            return integer_scalar<uint32_t>(value);
        case DType::kInt64:
            return integer_scalar<int64_t>(value);
        case DType::kUint64:
            return integer_scalar<uint64_t>(value);
        default:
            return unsupported("an attribute cannot become an input of type {}", name_of(dtype));
    }
}

using RuleTable = std::unordered_map<std::string_view, std::vector<const UpgradeRule*>>;

const RuleTable& rule_table() {
    static const RuleTable kTable = [] {
        RuleTable rules;
        for (const auto list : {broadcast_rules(), attribute_rules(), normalization_rules(),
                                resize_rules(), scan_rules()}) {
            for (const UpgradeRule& rule : list) {
                rules[rule.op_type].push_back(&rule);
            }
        }
        return rules;
    }();
    return kTable;
}

}  // namespace

void Upgrade::set_input(size_t i, ValueId value) {
    if (i >= node.inputs.size()) {
        node.inputs.resize(i + 1);
    }
    node.inputs[i] = value;
}

const Tensor* Upgrade::constant(ValueId id) const {
    const std::optional<Tensor>& tensor = builder_.graph().value(id).constant;
    return tensor ? &*tensor : nullptr;
}

const DefaultInput* Upgrade::default_input(ValueId id) const {
    return find_default_input(builder_.graph(), builder_.graph().value(id).name);
}

template <class T>
Status Upgrade::take_as(std::string_view key, std::optional<T>& value) {
    const auto found = node.attributes.find(key);
    if (found == node.attributes.end()) {
        return {};
    }
    const T* typed = std::get_if<T>(&found->second);
    if (typed == nullptr) {
        return wrong_type(key);
    }
    value = *typed;
    node.attributes.erase(found);
    return {};
}
template Status Upgrade::take_as(std::string_view, std::optional<int64_t>&);
template Status Upgrade::take_as(std::string_view, std::optional<float>&);
template Status Upgrade::take_as(std::string_view, std::optional<std::string>&);
template Status Upgrade::take_as(std::string_view, std::optional<std::vector<int64_t>>&);
template Status Upgrade::take_as(std::string_view, std::optional<std::vector<float>>&);

Status Upgrade::wrong_type(std::string_view key) const {
    return invalid_argument("attribute '{}' has the wrong type", key);
}

void Upgrade::drop(std::string_view key) {
    if (const auto found = node.attributes.find(key); found != node.attributes.end()) {
        node.attributes.erase(found);
    }
}

void Upgrade::set_default(std::string_view key, AttributeValue value) {
    node.attributes.emplace(std::string(key), std::move(value));
}

ValueId Upgrade::add_constant(Tensor tensor) {
    return builder_.add_constant(node.name + "/constant", std::move(tensor));
}

Result<ValueId> Upgrade::int64s(const std::vector<int64_t>& values) {
    LEAT_ASSIGN_OR_RETURN(Tensor tensor, Tensor::from<int64_t>({int64_t(values.size())}, values));
    return add_constant(std::move(tensor));
}

Result<ValueId> Upgrade::floats(const std::vector<float>& values) {
    LEAT_ASSIGN_OR_RETURN(Tensor tensor, Tensor::from<float>({int64_t(values.size())}, values));
    return add_constant(std::move(tensor));
}

Result<ValueId> Upgrade::scalar(DType dtype, double value) {
    LEAT_ASSIGN_OR_RETURN(Tensor tensor, typed_scalar(dtype, value));
    return add_constant(std::move(tensor));
}

NodeData Upgrade::make_node(std::string_view op_type,
                            std::vector<ValueId> inputs,
                            Attributes attributes) const {
    NodeData made;
    made.name = node.name + "/" + std::string(op_type);
    made.op_type = op_type;
    made.inputs = std::move(inputs);
    made.attributes = std::move(attributes);
    made.opset = node.opset;
    return made;
}

ValueId Upgrade::emit(std::string_view op_type,
                      std::vector<ValueId> inputs,
                      Attributes attributes) {
    NodeData made = make_node(op_type, std::move(inputs), std::move(attributes));
    const ValueId output = builder_.add_value(made.name, {});
    made.outputs = {output};
    builder_.add_node(std::move(made));
    return output;
}

ValueId Upgrade::detach_output(size_t i) {
    const ValueId original = node.outputs[i];
    node.outputs[i] = builder_.add_value(node.name + "/result", {});
    return original;
}

void Upgrade::emit_after(std::string_view op_type,
                         std::vector<ValueId> inputs,
                         ValueId output,
                         Attributes attributes) {
    NodeData made = make_node(op_type, std::move(inputs), std::move(attributes));
    made.outputs = {output};
    after_.push_back(std::move(made));
}

void Upgrade::finish() {
    while (!node.inputs.empty() && !node.inputs.back().valid()) {
        node.inputs.pop_back();
    }
    const std::vector<NodeDeviceConfiguration> stages = stages_of(node.device_configurations);
    builder_.add_node(std::move(node));
    for (NodeData& made : after_) {
        made.device_configurations = stages;
        builder_.add_node(std::move(made));
    }
}

std::optional<std::span<const AttributeSchema>> find_attribute_schemas(std::string_view op_type) {
    if (const OpDef* def = find_op("", op_type); def != nullptr) {
        return def->attributes;
    }
    const auto found = rule_table().find(op_type);
    if (found == rule_table().end() || found->second.front()->attributes.empty()) {
        return std::nullopt;
    }
    return found->second.front()->attributes;
}

std::vector<std::string_view> former_operators() {
    std::vector<std::string_view> names;
    for (const auto& [name, rules] : rule_table()) {
        if (!rules.front()->attributes.empty()) {
            names.push_back(name);
        }
    }
    return names;
}

Status add_upgraded(GraphBuilder& builder, NodeData node, int64_t opset) {
    node.opset = int32_t(std::min<int64_t>(opset, kAnyOpset));
    Upgrade upgrade(builder, node);
    const auto found = node.domain.empty() ? rule_table().find(node.op_type) : rule_table().end();
    if (found != rule_table().end()) {
        for (const UpgradeRule* rule : found->second) {
            if (opset >= rule->before) {
                continue;
            }
            if (Status status = rule->apply(upgrade); !status.ok()) {
                return std::move(status).with_node(node.label());
            }
        }
    }
    upgrade.finish();
    return {};
}

}  // namespace leat::onnx
