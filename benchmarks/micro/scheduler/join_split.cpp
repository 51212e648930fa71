#include "join_split.h"

#include <algorithm>
#include <numeric>
#include <span>
#include <utility>

namespace leat::micro {
namespace {

using Lists = std::vector<std::vector<int32_t>>;

// Replaces the ends of the edges of one node by at most kMaxDegree groups: each group becomes a
// new node whose list `grow` receives.
template <typename AddGroup>
std::vector<int32_t> group(std::vector<int32_t> ends, AddGroup add_group) {
    while (ends.size() > size_t{kMaxDegree}) {
        std::vector<int32_t> groups;
        for (size_t begin = 0; begin < ends.size(); begin += size_t{kMaxDegree}) {
            const size_t count = std::min(size_t{kMaxDegree}, ends.size() - begin);
            groups.push_back(add_group(std::span(ends).subspan(begin, count)));
        }
        ends = std::move(groups);
    }
    return ends;
}

}  // namespace

BoundedGraph bound_degrees(const Graph& graph) {
    const int32_t nodes = graph.node_count();
    BoundedGraph result;
    Lists predecessors(size_t(nodes) + 1);
    result.last_node = nodes;
    for (int32_t node = 0; node < nodes; ++node) {
        for (int32_t successor : graph.successors_of(node)) {
            predecessors[size_t(successor)].push_back(node);
        }
        if (graph.successors_of(node).empty()) {
            predecessors[size_t(nodes)].push_back(node);
        }
    }
    const auto add_join = [&predecessors](std::span<const int32_t> members) {
        predecessors.emplace_back(members.begin(), members.end());
        return int32_t(predecessors.size()) - 1;
    };
    for (size_t node = 0; node <= size_t(nodes); ++node) {
        std::vector<int32_t> list = group(std::move(predecessors[node]), add_join);
        predecessors[node] = std::move(list);
    }
    Lists& successors = result.successors;
    successors.resize(predecessors.size());
    for (size_t node = 0; node < predecessors.size(); ++node) {
        for (int32_t predecessor : predecessors[node]) {
            successors[size_t(predecessor)].push_back(int32_t(node));
        }
    }
    const auto add_split = [&successors](std::span<const int32_t> members) {
        successors.emplace_back(members.begin(), members.end());
        return int32_t(successors.size()) - 1;
    };
    const size_t before_splits = successors.size();
    for (size_t node = 0; node < before_splits; ++node) {
        std::vector<int32_t> list = group(std::move(successors[node]), add_split);
        successors[node] = std::move(list);
    }
    result.predecessor_count.resize(successors.size());
    for (const std::vector<int32_t>& list : successors) {
        for (int32_t successor : list) {
            ++result.predecessor_count[size_t(successor)];
        }
    }
    return result;
}

}  // namespace leat::micro
