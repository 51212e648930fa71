// A graph of the C ABI as leat's own, with copies of what is read after compile.
#pragma once

#include <cstdint>
#include <limits>
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
    int32_t value = -1;         // the host's number of it
    uint64_t content_hash = 0;  // as the host tells it
    int32_t own_value = -1;     // its number in `graph`, where it has a fixed type
};

struct ImportedGraph {
    GraphData graph;
    std::vector<Symbol> symbols;
    std::vector<LeatStatePair> states;
    std::vector<ImportedConstant> constants;  // packed in this order
    uint64_t host_inputs = 0;                 // bit i: graph input i
};

// Constants of more bytes have a type only: their elements come when they are packed. Throws an
// Error for what leat's graphs cannot hold.
ImportedGraph import_graph(const LeatGraphView& view,
                           int64_t max_kept_bytes = std::numeric_limits<int64_t>::max());

// One node; its values have the numbers of the view.
NodeData import_node(const LeatNodeView& view);

// As text, with all elements that are kept; the values of what it restores have other numbers.
// restore_graph() throws kLeatCorrupt where it is no such text.
std::string saved_graph(const ImportedGraph& graph);
ImportedGraph restore_graph(std::string_view saved);

}  // namespace leat::lowered
