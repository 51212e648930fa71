// Operators that a host registers with a backend: shapes of their results by the host's callbacks.
#pragma once

#include <map>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "backends/lowered/lowered_graph.h"
#include "leat/plugin_backend.h"

namespace leat::lowered {

// Operands for callbacks of the ABI; the arguments outlive it.
class TensorViews {
  public:
    explicit TensorViews(std::span<const TensorArg> args);
    const LeatTensorView* const* inputs() const { return pointers_.data(); }
    LeatTensorView* const* outputs() const { return pointers_.data(); }

  private:
    std::vector<LeatTensorView> views_;
    std::vector<LeatTensorView*> pointers_;
};

// A node for callbacks of the ABI: names and attributes, without numbers of values. The node
// outlives it.
class CalledNode {
  public:
    explicit CalledNode(const NodeData& node);
    CalledNode(const CalledNode&) = delete;
    CalledNode& operator=(const CalledNode&) = delete;
    const LeatNodeView* view() const { return &view_; }

  private:
    std::vector<std::vector<const char*>> texts_;  // by attribute, as the next
    std::vector<LeatTensorView> tensors_;
    std::vector<LeatAttributeView> attributes_;
    std::vector<const LeatAttributeView*> pointers_;
    LeatNodeView view_;
};

// Thread-safe.
class RegisteredOperators : public OwnOperators {
  public:
    bool has(const NodeData& node) const override { return is_registered(node); }
    void infer(const NodeData& node,
               std::span<const TensorArg> inputs,
               std::span<ValueFact> outputs) const override;
    bool is_bounded(const NodeData& /*node*/) const override { return false; }

    void add(const LeatOperator& schema);
    bool is_registered(const NodeData& node) const;
    // Without its texts. Throws kLeatNotFound where the operator is not registered.
    LeatOperator schema_of(std::string_view domain, std::string_view op_type) const;

  private:
    using Key = std::pair<std::string, std::string>;  // domain, op_type
    std::optional<LeatOperator> find(std::string_view domain, std::string_view op_type) const;

    mutable std::mutex mutex_;
    std::map<Key, LeatOperator> schemas_;  // without their texts, which the host keeps for the call
};

}  // namespace leat::lowered
