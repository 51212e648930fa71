// CustomOpDef: a CustomOperator as the graph's modules see operators. Its functions find the
// callbacks through NodeData::def.
//
// Immutable and thread-safe. Shared by everything that uses the operator; holds the shared object
// that the callbacks are in.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "graph/op_def.h"
#include "leat/custom_operator.h"

namespace leat {

struct CustomOpDef : OpDef {
    // Precondition: check_schema(described) is ok.
    CustomOpDef(CustomOperator described,
                std::string from,
                std::shared_ptr<const void> shared_object);
    CustomOpDef(const CustomOpDef&) = delete;
    CustomOpDef& operator=(const CustomOpDef&) = delete;

    // Goes last: the code of the callbacks is in it.
    std::shared_ptr<const void> library;
    CustomOperator schema;
    std::vector<AttributeSchema> attribute_schemas;  // what OpDef::attributes shows
    std::string source;                              // "the program", or the shared object's file

    // "acme.Scale version 2"
    std::string label() const;
    // The kernel of "cpu" or "reference", else the other one; null if there is none.
    const OperatorKernel* host_kernel(std::string_view backend) const;
};

namespace custom {

// Null if the definition is one of leat's own.
const CustomOpDef* find_custom(const OpDef* def);
// Precondition: the node is one of a custom operator.
const CustomOpDef& custom_of(const NodeData& node);

// Gives the node the defaults of attributes that it does not have, for who does not see the schema.
void add_defaults(NodeData& node);

// The node as callbacks see it. Both are borrowed.
class NodeOfCustom final : public OperatorNode {
  public:
    explicit NodeOfCustom(const NodeData& node) : node_(node) {}
    std::string_view name() const override { return node_.name; }
    std::string_view domain() const override { return node_.domain; }
    std::string_view op_type() const override { return node_.op_type; }
    const AttributeValue* attribute(std::string_view attribute_name) const override;

  private:
    const NodeData& node_;
};

// What the operator's cost callback says, or what memory moves anyway and a flop an element where
// it has none. An error names the callback that threw, or the number that is none of a cost.
// Precondition: the node is one of a custom operator.
Result<Cost> checked_cost(const NodeData& node,
                          std::span<const TensorArg> inputs,
                          std::span<const TensorArg> outputs);

TensorView view_of(const TensorArg& arg);
std::vector<TensorView> views_of(std::span<const TensorArg> args);

}  // namespace custom
}  // namespace leat
