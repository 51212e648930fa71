// PluginGraph: a graph as backends of the C ABI see it (LeatGraphView).
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "backends/plugin/plugin_constants.h"
#include "graph/graph_data.h"
#include "leat/plugin.h"

namespace leat {

// Owns the tables; names and attributes are those of the graph. Immutable once made.
class PluginGraph {
  public:
    // Nodes are in topological order, without epilogues. The graph and the constants outlive this,
    // the graph unchanged. Extents of inputs that are not fixed become symbols; those of other
    // values are symbols where they have the name of one, else unknown. out_of_memory where a
    // constant cannot be aligned.
    static Result<std::unique_ptr<PluginGraph>> make(const GraphData& graph,
                                                     PluginConstants& constants);
    PluginGraph(const PluginGraph&) = delete;
    PluginGraph& operator=(const PluginGraph&) = delete;

    const LeatGraphView& view() const { return view_; }
    // Where the extent of each symbol is found: that of this axis of this input.
    struct SymbolSource {
        int32_t input = 0;
        int32_t axis = 0;
    };
    std::span<const SymbolSource> symbol_sources() const { return sources_; }

  private:
    PluginGraph(const GraphData& graph, PluginConstants& constants)
        : graph_(graph), constant_memory_(constants) {}
    Status build(std::span<const ValueId> captured);
    void add_symbols();
    std::string symbol_name(const std::string& text) const;
    LeatDim dim_of(const DimSpec& dim) const;
    Status add_value(const ValueData& value);
    Status add_node(const NodeData& node);
    Result<const LeatAttributeView*> attribute_of(const std::string& name,
                                                  const AttributeValue& value);
    Result<const LeatSubgraphView*> body_of(const std::string& name,
                                            const GraphData& body,
                                            std::span<const ValueId> captured);
    const LeatTensorView* tensor_of(const Tensor& tensor, const PluginConstants::Entry& memory);
    const int32_t* ids_of(std::span<const ValueId> ids);

    const GraphData& graph_;
    PluginConstants& constant_memory_;
    LeatGraphView view_{};
    std::vector<SymbolSource> sources_;
    std::map<std::string, int32_t, std::less<>> symbol_of_key_;  // of dim_key()
    // Deques, because rows point at each other.
    std::deque<std::string> names_;
    std::deque<LeatSymbolView> symbols_;
    std::deque<LeatValueView> values_;
    std::deque<LeatNodeView> nodes_;
    std::deque<LeatAttributeView> attributes_;
    std::deque<LeatSubgraphView> subgraphs_;
    std::deque<LeatTensorView> tensors_;
    std::deque<LeatConstantView> constants_;
    std::deque<std::vector<LeatDim>> dims_;
    std::deque<std::vector<int32_t>> ids_;
    std::deque<std::vector<const char*>> texts_;
    std::deque<std::vector<const LeatAttributeView*>> attribute_lists_;
    std::deque<std::vector<const LeatSubgraphView*>> subgraph_lists_;
    std::vector<const LeatSymbolView*> symbol_rows_;
    std::vector<const LeatValueView*> value_rows_;
    std::vector<const LeatNodeView*> node_rows_;
    std::deque<std::unique_ptr<PluginGraph>> bodies_;
};

}  // namespace leat
