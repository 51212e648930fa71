#include "join_split.h"

#include <algorithm>
#include <span>

namespace leat::micro {
namespace {

struct Edge {
    int32_t from = 0;
    int32_t to = 0;
};

// One end of the edges, as seen from the nodes there.
class EdgeEnd {
  public:
    // New nodes are numbered from `nodes` on, which counts them.
    EdgeEnd(std::vector<Edge>& edges, int32_t& nodes, int32_t Edge::*own, int32_t Edge::*other)
        : edges_(edges), nodes_(nodes), own_(own), other_(other) {}

    // Gives every node at most kMaxDegree edges at this end.
    void bound() {
        std::vector<int32_t> degree(static_cast<size_t>(nodes_));
        for (const Edge& edge : edges_) {
            ++degree[size_t(edge.*own_)];
        }
        const auto is_heavy = [&](const Edge& edge) {
            return degree[size_t(edge.*own_)] > kMaxDegree;
        };
        if (std::none_of(edges_.begin(), edges_.end(), is_heavy)) {
            return;
        }
        std::vector<std::vector<int32_t>> ends_of(degree.size());
        for (const Edge& edge : edges_) {
            if (is_heavy(edge)) {
                ends_of[size_t(edge.*own_)].push_back(edge.*other_);
            }
        }
        std::erase_if(edges_, is_heavy);
        for (size_t node = 0; node < ends_of.size(); ++node) {
            while (ends_of[node].size() > size_t{kMaxDegree}) {
                ends_of[node] = grouped(ends_of[node]);
            }
            add_edges(int32_t(node), ends_of[node]);
        }
    }

  private:
    // A new node for each kMaxDegree of `ends`.
    std::vector<int32_t> grouped(std::span<const int32_t> ends) {
        std::vector<int32_t> groups;
        while (!ends.empty()) {
            const size_t count = std::min(size_t{kMaxDegree}, ends.size());
            groups.push_back(nodes_++);
            add_edges(groups.back(), ends.first(count));
            ends = ends.subspan(count);
        }
        return groups;
    }
    void add_edges(int32_t node, std::span<const int32_t> ends) {
        for (const int32_t end : ends) {
            Edge edge;
            edge.*own_ = node;
            edge.*other_ = end;
            edges_.push_back(edge);
        }
    }

    std::vector<Edge>& edges_;
    int32_t& nodes_;
    int32_t Edge::*own_;
    int32_t Edge::*other_;
};

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
    EdgeEnd(edges, nodes, &Edge::to, &Edge::from).bound();
    EdgeEnd(edges, nodes, &Edge::from, &Edge::to).bound();

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
