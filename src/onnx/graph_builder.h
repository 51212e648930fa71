// GraphBuilder: a GraphData while the importer fills it, in topological order, with unique value
// names and, on request, the types known so far (upgrade rules of old opsets ask for ranks and
// element types).
#pragma once

#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/hash_index.h"
#include "graph/graph_data.h"
#include "graph/op_def.h"
#include "graph/operator_source.h"

namespace leat::onnx {

class GraphBuilder {
  public:
    // outer: of the graph around a subgraph, else null; names are unique across both. track_types:
    // infer every node when it is added. operators: custom ones whose
    // results have types then; nodes get no definition from it. Null: none.
    GraphBuilder(GraphBuilder* outer, bool track_types, const OperatorSource* operators = nullptr);

    GraphData& graph() { return *graph_; }
    Graph take() { return Graph(std::move(graph_)); }

    // `name` or, if it is taken, the name with a number; empty names become "value".
    std::string unique_name(std::string_view name);

    // Room for as many more.
    void reserve(size_t values, size_t nodes);
    ValueId add_value(std::string_view name, TypeInfo type);
    ValueId add_constant(std::string_view name, Tensor tensor);
    // A stand-in, of the same name, for a value of `from`, a graph around; always the same one. A
    // constant that no run replaces is shared. GraphData::close_bodies makes inputs of the others.
    ValueId capture(GraphBuilder& from, ValueId value);
    // Gives a value that add_value made its elements.
    void set_constant(ValueId id, Tensor tensor);
    // A run may have another value of that type in its place: nothing more is inferred from it.
    void open_constant(ValueId id, const TypeInfo& type);
    // Takes the node over, sets its definition and makes it the producer of its outputs.
    void add_node(NodeData node);

    // Inferred, else declared; rank -1 and kUndefined when unknown.
    const TypeInfo& type_of(ValueId id) const;

  private:
    bool is_taken(std::string_view name) const;
    void add_name();
    // Of leat's table or among the custom ones; null if there is none.
    const OpDef* known_operator(const NodeData& node) const;
    void infer(NodeData& node);

    std::unique_ptr<GraphData> graph_;
    GraphBuilder* outer_;
    const OperatorSource* operators_;
    bool track_types_;
    HashIndex names_;                               // of values, by index
    std::unordered_map<std::string, int> numbers_;  // the last one tried behind a name
    std::vector<ValueFact> facts_;  // by value index; empty unless types are tracked
    std::unordered_map<int32_t, ValueId> captured_;  // by value of the graph around
};

}  // namespace leat::onnx
