// Opset upgrade: nodes of any opset from 1 on become leat's canonical form, the newest one of ONNX,
// when the importer adds them. Operators and attributes that no rule knows pass unchanged.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "onnx/graph_builder.h"

namespace leat::onnx {

// One node on its way into a graph. Rules change `node` in place; nodes that they emit stand before
// it, those of emit_after behind it.
class Upgrade {
  public:
    Upgrade(GraphBuilder& builder, NodeData& node) : node(node), builder_(builder) {}

    NodeData& node;  // NOLINT(misc-non-private-member-variables-in-classes)

    bool has_input(size_t i) const { return i < node.inputs.size() && node.inputs[i].valid(); }
    bool has_output(size_t i) const { return i < node.outputs.size() && node.outputs[i].valid(); }
    void set_input(size_t i, ValueId value);
    const TypeInfo& type(ValueId id) const { return builder_.type_of(id); }
    int rank(ValueId id) const { return builder_.type_of(id).rank(); }  // -1: unknown
    DType dtype(ValueId id) const { return builder_.type_of(id).dtype; }
    // The elements' shape and memory of a constant, else null.
    const Tensor* constant(ValueId id) const;
    // Of a constant that a request may bind another value to: its declaration, else null. What is
    // made of it must follow such a value.
    const DefaultInput* default_input(ValueId id) const;

    // Removes an attribute and gives its value; an error if it has another type.
    Status take(std::string_view key, std::optional<int64_t>& value) { return take_as(key, value); }
    Status take(std::string_view key, std::optional<float>& value) { return take_as(key, value); }
    Status take(std::string_view key, std::optional<std::string>& value) {
        return take_as(key, value);
    }
    Status take(std::string_view key, std::optional<std::vector<int64_t>>& value) {
        return take_as(key, value);
    }
    Status take(std::string_view key, std::optional<std::vector<float>>& value) {
        return take_as(key, value);
    }
    void drop(std::string_view key);
    void set_default(std::string_view key, AttributeValue value);

    ValueId add_constant(Tensor tensor);
    Result<ValueId> int64s(const std::vector<int64_t>& values);  // 1-D
    Result<ValueId> floats(const std::vector<float>& values);    // 1-D
    // A 0-D constant of a numeric type; kUndefined gives f32.
    Result<ValueId> scalar(DType dtype, double value);

    ValueId emit(std::string_view op_type, std::vector<ValueId> inputs, Attributes attributes = {});
    // Gives the node another output i; returns the value that the rest of the graph reads.
    ValueId detach_output(size_t i);
    // A node behind this one that produces `output`, a detached value.
    void emit_after(std::string_view op_type,
                    std::vector<ValueId> inputs,
                    ValueId output,
                    Attributes attributes = {});

    // Adds the node and those behind it to the graph.
    void finish();

  private:
    template <class T>
    Status take_as(std::string_view key, std::optional<T>& value);
    Status wrong_type(std::string_view key) const;
    NodeData make_node(std::string_view op_type,
                       std::vector<ValueId> inputs,
                       Attributes attributes) const;

    GraphBuilder& builder_;
    std::vector<NodeData> after_;
};

struct UpgradeRule {
    std::string_view op_type;
    int before;  // applies to nodes of opsets below this
    Status (*apply)(Upgrade& upgrade);
    // Of an operator without OpDef, which the rule makes one that has it.
    std::span<const AttributeSchema> attributes = {};
};
// The rules, by file; of one operator in the order in which they apply.
std::span<const UpgradeRule> broadcast_rules();
std::span<const UpgradeRule> attribute_rules();
std::span<const UpgradeRule> normalization_rules();
std::span<const UpgradeRule> resize_rules();
std::span<const UpgradeRule> scan_rules();

inline constexpr int kAnyOpset = 1 << 30;

// Attributes of an operator of ONNX's default domain that leat has, or makes another by a rule.
// nullopt: there is none of that name.
std::optional<std::span<const AttributeSchema>> find_attribute_schemas(std::string_view op_type);
// Operators without OpDef that rules make others.
std::vector<std::string_view> former_operators();

// Upgrades the node from `opset` (of its domain) and adds it to the graph. Errors name the node.
Status add_upgraded(GraphBuilder& builder, NodeData node, int64_t opset);

}  // namespace leat::onnx
