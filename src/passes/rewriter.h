// Rewriter: changes to a graph together with an index of readers that stays up to date.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/error.h"
#include "graph/graph_data.h"
#include "passes/node_history.h"

namespace leat {

class Rewriter {
  public:
    Rewriter(GraphData& graph, NodeHistory& history) : graph_(graph), history_(history) {}

    GraphData& graph() { return graph_; }
    NodeHistory& history() { return history_; }
    // Valid until the graph changes.
    std::span<const NodeId> readers(ValueId id) const {
        const InlineVector<NodeId, 2>& list = uses().readers[size_t(id.index)];
        return {list.data(), list.size()};
    }
    bool is_output(ValueId id) const { return uses().output_uses[size_t(id.index)] > 0; }
    bool is_unused(ValueId id) const { return readers(id).empty() && !is_output(id); }
    // The reader, if there is exactly one use and it is not a graph output.
    std::optional<NodeId> only_reader(ValueId id) const;

    // Every use of `from` becomes one of `to`, graph outputs included.
    void replace_uses(ValueId from, ValueId to);
    // Lets `to` stand for `from`, the result of a node that does nothing. Not possible, and false,
    // if a graph output would then be no node's result (outputs are written by nodes).
    bool bypass(ValueId from, ValueId to);
    void set_input(NodeId node, size_t i, ValueId value);
    void set_inputs(NodeId node, std::vector<ValueId> inputs);
    // Marks a node dead; it no longer reads its inputs.
    void remove(NodeId node);
    // Gives `node`'s first result to `to`: readers see the same value. The old producer of the
    // value must be removed by the caller.
    NodeId add_node(const std::string& domain,
                    const std::string& op_type,
                    std::vector<ValueId> inputs,
                    const std::string& name);
    ValueId add_constant(std::string_view stem, Tensor tensor);
    Result<ValueId> add_ints(std::string_view stem, const std::vector<int64_t>& elements);
    Result<ValueId> add_floats(std::string_view stem,
                               const Shape& shape,
                               const std::vector<float>& elements);
    // Turns a node into another operator with these inputs; its results stay its own.
    void become(NodeId node,
                const char* op_type,
                std::vector<ValueId> inputs,
                Attributes attributes);
    // The same for a node that stands for others from now on: those between the inputs and it.
    // False, and nothing has changed, if they are pinned to different devices.
    bool replace_pattern(NodeId last,
                         const char* op_type,
                         std::vector<ValueId> inputs,
                         Attributes attributes);
    // Turns the results of a node into constants and removes it.
    void become_constants(NodeId node, std::vector<Tensor> results);

    bool changed() const { return changes_ > 0; }
    int changes() const { return changes_; }
    void count_change() { ++changes_; }

  private:
    // What the node depends on behind these values.
    std::vector<const NodeData*> nodes_between(std::span<const ValueId> values, NodeId last) const;
    // Found when somebody first asks: most passes find nothing to change in most graphs.
    GraphData::Uses& uses() const {
        if (!uses_) {
            uses_ = graph_.uses();
        }
        return *uses_;
    }
    void grow();
    void drop_reader(ValueId value, NodeId node);

    GraphData& graph_;
    NodeHistory& history_;
    mutable std::optional<GraphData::Uses> uses_;
    int changes_ = 0;
};

// ---- reading constants ----
const Tensor* constant_of(const GraphData& graph, ValueId id);
// Elements of an f32 constant; nullopt if it is none.
std::optional<std::vector<float>> floats_of(const GraphData& graph, ValueId id);
// The element of an f32 constant of one element.
std::optional<float> scalar_of(const GraphData& graph, ValueId id);
// Elements of an i32 or i64 constant.
std::optional<std::vector<int64_t>> ints_of(const GraphData& graph, ValueId id);
// The node that produces the value if it is of this operator of the ONNX domain, else null.
const NodeData* producer_of(const GraphData& graph, ValueId id, std::string_view op_type);

// The same extents for certain: equal numbers or equal names, in the same order.
bool same_shape(const TypeInfo& a, const TypeInfo& b);
// True if `operand` broadcasts to `result` and leaves its shape as it is, for certain.
bool broadcasts_into(const TypeInfo& operand, const TypeInfo& result);
// A constant second input of Reshape that turns `from` into `to` whatever the symbolic extents are,
// zero among them; nullopt if there is none.
std::optional<std::vector<int64_t>> reshape_target(const TypeInfo& from, const TypeInfo& to);

}  // namespace leat
