// A graph of the C ABI as leat's own, with copies of all that the host lends.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "graph/graph_data.h"
#include "leat/plugin_backend.h"

namespace leat::lowered {

struct Symbol {
    std::string name;
    int64_t min_extent = 0;
    int64_t max_extent = -1;  // -1: no bound
};

struct ImportedConstant {
    int32_t value = -1;         // the host's number of it; saving renumbers the values here
    uint64_t content_hash = 0;  // as the host tells it
};

struct ImportedGraph {
    GraphData graph;
    std::vector<Symbol> symbols;
    std::vector<LeatStatePair> states;
    std::vector<ImportedConstant> constants;  // in the order of their values here
    uint64_t host_inputs = 0;                 // bit i: graph input i
};

// Throws an Error for what leat's graphs cannot hold.
ImportedGraph import_graph(const LeatGraphView& view);

// One node; its values have the numbers of the view.
NodeData import_node(const LeatNodeView& view);

// As text, with all constants; restore_graph() throws kLeatCorrupt where it is no such text.
std::string saved_graph(const ImportedGraph& graph);
ImportedGraph restore_graph(std::string_view saved);

}  // namespace leat::lowered
