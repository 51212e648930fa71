// The task graphs that the scheduler benchmark runs: plain successor lists, no body, no cost.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace leat::micro {

// Nodes are numbered so that every edge leads from a smaller to a larger number: [0, node_count) is
// a topological order. No edge appears twice.
struct Graph {
    std::string name;
    std::vector<int64_t> successor_begin;  // node_count + 1 offsets into `successors`
    std::vector<int32_t> successors;
    std::vector<int32_t> predecessor_count;

    int32_t node_count() const { return int32_t(predecessor_count.size()); }
    int64_t edge_count() const { return int64_t(successors.size()); }
    std::span<const int32_t> successors_of(int32_t node) const {
        const size_t begin = size_t(successor_begin[size_t(node)]);
        return std::span(successors)
            .subspan(begin, size_t(successor_begin[size_t(node) + 1]) - begin);
    }
};

// The same edges from the other end, in increasing order.
struct Predecessors {
    std::vector<int64_t> begin;  // node_count + 1
    std::vector<int32_t> nodes;

    std::span<const int32_t> of(int32_t node) const {
        const size_t first = size_t(begin[size_t(node)]);
        return std::span(nodes).subspan(first, size_t(begin[size_t(node) + 1]) - first);
    }
};
Predecessors predecessors_of(const Graph& graph);

// From lists of predecessors: node i has predecessors[i], each below i; duplicates are dropped.
Graph make_graph(std::string name, std::vector<std::vector<int32_t>> predecessors);

// The ten graphs, in the order of the tables:
//   chain      one node after another
//   fan        1 -> n -> 1
//   bintree    complete binary tree, root first
//   wavefront  square grid, at most 300 x 300; a node follows its upper and its left neighbour
//   random4    0 to 4 predecessors drawn from the 1,000 nodes before (mean just below 4); seeded
// and five of Task Bench (Slaughter et al., SC 2020), `width` points a step; point p at step t
// follows these points of step t - 1:
//   stencil    p - 1, p, p + 1
//   fft        p, p - d, p + d with d = 2^((t - 1) mod log2(width))
//   tree       p / 2; step t has min(width, 2^t) points
//   nearest    p - 2 .. p + 2
//   spread     (p + i * width / 5 + (i > 0 ? t mod 3 : 0)) mod width for i = 0 .. 4
std::span<const std::string_view> graph_names();

constexpr int32_t kFullNodes = 100'000;
constexpr int32_t kTaskBenchWidth = 64;

// About `nodes` nodes (the nearest size that the shape allows). `width` counts for Task Bench's
// five only. `name` is one of graph_names().
Graph make_named_graph(std::string_view name, int32_t nodes, int32_t width = kTaskBenchWidth);

// Nodes without edges; 1 -> width -> 1.
Graph make_independent(int32_t nodes);
Graph make_fan(int32_t width);
Graph make_chain(int32_t nodes);

}  // namespace leat::micro
