// Bounded degrees: fans in or out of more than kMaxDegree become trees of nodes that do nothing.
#pragma once

#include <cstdint>
#include <vector>

#include "graphs.h"

namespace leat::micro {

constexpr int32_t kMaxDegree = 64;

// The nodes of `graph` keep their numbers; one last node, which follows all others, joins and
// splits come after them. Numbers are not a topological order any more.
struct BoundedGraph {
    std::vector<uint32_t> successor_begin;  // node count + 1
    std::vector<int32_t> successors;
    std::vector<uint8_t> predecessor_count;
    int32_t last_node = 0;
};
BoundedGraph bound_degrees(const Graph& graph);

}  // namespace leat::micro
