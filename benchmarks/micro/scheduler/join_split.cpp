#include "join_split.h"

#include <algorithm>
#include <utility>

namespace leat::micro {
namespace {

struct Edge {
    int32_t from = 0;
    int32_t to = 0;
};

// Gives every node at most kMaxDegree edges at its end `own`. Groups of 64 edges of a node that has
// more get a new node, numbered from `nodes` on, again and again until few enough are left.
void bound_end(std::vector<Edge>& edges, int32_t& nodes, int32_t Edge::*own, int32_t Edge::*other) {
    std::vector<int32_t> degree(static_cast<size_t>(nodes));
    for (const Edge& edge : edges) {
        ++degree[size_t(edge.*own)];
    }
    std::vector<std::vector<int32_t>> ends_of(degree.size());
    const auto is_heavy = [&](const Edge& edge) { return degree[size_t(edge.*own)] > kMaxDegree; };
    if (std::none_of(edges.begin(), edges.end(), is_heavy)) {
        return;
    }
    for (const Edge& edge : edges) {
        if (is_heavy(edge)) {
            ends_of[size_t(edge.*own)].push_back(edge.*other);
        }
    }
    std::erase_if(edges, is_heavy);
    const auto add = [&](int32_t own_node, int32_t other_node) {
        Edge edge;
        edge.*own = own_node;
        edge.*other = other_node;
        edges.push_back(edge);
    };
    for (size_t node = 0; node < ends_of.size(); ++node) {
        std::vector<int32_t> ends = std::move(ends_of[node]);
        while (ends.size() > size_t{kMaxDegree}) {
            std::vector<int32_t> groups;
            for (size_t i = 0; i < ends.size(); ++i) {
                if (i % size_t{kMaxDegree} == 0) {
                    groups.push_back(nodes++);
                }
                add(groups.back(), ends[i]);
            }
            ends = std::move(groups);
        }
        for (const int32_t end : ends) {
            add(int32_t(node), end);
        }
    }
}

}  // namespace

BoundedGraph bound_degrees(const Graph& graph) {
    BoundedGraph result;
    int32_t nodes = graph.node_count();
    result.last_node = nodes++;
    std::vector<Edge> edges;
    edges.reserve(size_t(graph.edge_count()) + size_t(nodes));
    for (int32_t node = 0; node < graph.node_count(); ++node) {
        for (const int32_t successor : graph.successors_of(node)) {
            edges.push_back({node, successor});
        }
        if (graph.successors_of(node).empty()) {
            edges.push_back({node, result.last_node});
        }
    }
    bound_end(edges, nodes, &Edge::to, &Edge::from);
    bound_end(edges, nodes, &Edge::from, &Edge::to);

    result.predecessor_count.resize(size_t(nodes));
    result.successor_begin.resize(size_t(nodes) + 1);
    result.successors.resize(edges.size());
    for (const Edge& edge : edges) {
        ++result.predecessor_count[size_t(edge.to)];
        ++result.successor_begin[size_t(edge.from) + 1];
    }
    for (size_t node = 0; node < size_t(nodes); ++node) {
        result.successor_begin[node + 1] += result.successor_begin[node];
    }
    std::vector<uint32_t> next = result.successor_begin;
    for (const Edge& edge : edges) {
        result.successors[next[size_t(edge.from)]++] = edge.to;
    }
    return result;
}

}  // namespace leat::micro
