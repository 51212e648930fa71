#include "graphs.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <random>
#include <utility>

#include "base/check.h"

namespace leat::micro {
namespace {

using PredecessorLists = std::vector<std::vector<int32_t>>;

constexpr std::array<std::string_view, 10> kNames = {"chain",   "fan",     "bintree", "wavefront",
                                                     "random4", "stencil", "fft",     "tree",
                                                     "nearest", "spread"};

PredecessorLists binary_tree(int32_t nodes) {
    PredecessorLists lists(size_t{std::bit_floor(uint32_t(nodes) + 1)} - 1);
    for (size_t node = 1; node < lists.size(); ++node) {
        lists[node] = {int32_t((node - 1) / 2)};
    }
    return lists;
}

PredecessorLists wavefront(int32_t nodes) {
    constexpr int32_t kLargestSide = 300;
    const int32_t side = std::min(kLargestSide, int32_t(std::lround(std::sqrt(double(nodes)))));
    PredecessorLists lists;
    lists.reserve(size_t(side) * size_t(side));
    for (int32_t row = 0; row < side; ++row) {
        for (int32_t column = 0; column < side; ++column) {
            std::vector<int32_t>& list = lists.emplace_back();
            if (row > 0) {
                list.push_back((row - 1) * side + column);
            }
            if (column > 0) {
                list.push_back(row * side + column - 1);
            }
        }
    }
    return lists;
}

PredecessorLists random_dag(int32_t nodes) {
    constexpr int32_t kReach = 1000;
    constexpr int kDraws = 4;
    std::minstd_rand random(20200);  // the same graph in every run of the program
    PredecessorLists lists(static_cast<size_t>(nodes));
    for (int32_t node = 1; node < nodes; ++node) {
        std::uniform_int_distribution<int32_t> before(std::max(0, node - kReach), node - 1);
        for (int i = 0; i < kDraws; ++i) {
            lists[size_t(node)].push_back(before(random));
        }
    }
    return lists;
}

// Points of step t - 1 that point `p` of step `t` follows.
std::vector<int32_t> task_bench_points(std::string_view name, int32_t t, int32_t p, int32_t width) {
    constexpr int32_t kRadix = 5;
    constexpr int32_t kPeriod = 3;
    std::vector<int32_t> points;
    if (name == "stencil") {
        points = {p - 1, p, p + 1};
    } else if (name == "fft") {
        const int32_t distances = std::max(1, int32_t(std::bit_width(uint32_t(width) - 1)));
        const int32_t distance = 1 << ((t - 1) % distances);
        points = {p, p - distance, p + distance};
    } else if (name == "tree") {
        points = {p / 2};
    } else if (name == "nearest") {
        points = {p - 2, p - 1, p, p + 1, p + 2};
    } else {
        for (int32_t i = 0; i < kRadix; ++i) {
            points.push_back((p + i * width / kRadix + (i > 0 ? t % kPeriod : 0)) % width);
        }
    }
    std::erase_if(points, [=](int32_t point) { return point < 0 || point >= width; });
    return points;
}

PredecessorLists task_bench(std::string_view name, int32_t nodes, int32_t width) {
    PredecessorLists lists;
    lists.reserve(size_t(nodes) + size_t(width));
    int32_t previous_begin = 0;
    for (int32_t t = 0; t == 0 || int64_t(lists.size()) + width <= nodes; ++t) {
        const auto begin = int32_t(lists.size());
        const int32_t points = name == "tree" && t < 31 ? std::min(width, 1 << t) : width;
        for (int32_t p = 0; p < points; ++p) {
            std::vector<int32_t>& list = lists.emplace_back();
            if (t == 0) {
                continue;
            }
            list = task_bench_points(name, t, p, width);
            for (int32_t& point : list) {
                point += previous_begin;
            }
        }
        previous_begin = begin;
    }
    return lists;
}

}  // namespace

Predecessors predecessors_of(const Graph& graph) {
    Predecessors result;
    const size_t nodes = graph.predecessor_count.size();
    result.begin.resize(nodes + 1);
    for (size_t node = 0; node < nodes; ++node) {
        result.begin[node + 1] = result.begin[node] + graph.predecessor_count[node];
    }
    result.nodes.resize(size_t(result.begin[nodes]));
    std::vector<int64_t> next(result.begin.begin(), result.begin.end() - 1);
    for (int32_t node = 0; node < graph.node_count(); ++node) {
        for (int32_t successor : graph.successors_of(node)) {
            result.nodes[size_t(next[size_t(successor)]++)] = node;
        }
    }
    return result;
}

Graph make_graph(std::string name, std::vector<std::vector<int32_t>> predecessors) {
    Graph graph;
    graph.name = std::move(name);
    graph.successor_begin.resize(predecessors.size() + 1);
    for (size_t node = 0; node < predecessors.size(); ++node) {
        std::vector<int32_t>& list = predecessors[node];
        std::sort(list.begin(), list.end());
        list.erase(std::unique(list.begin(), list.end()), list.end());
        LEAT_CHECK(list.empty() || (list.front() >= 0 && list.back() < int32_t(node)),
                   "graph {}: node {} has a predecessor that is not before it", graph.name, node);
        graph.predecessor_count.push_back(int32_t(list.size()));
        for (int32_t predecessor : list) {
            ++graph.successor_begin[size_t(predecessor) + 1];
        }
    }
    for (size_t node = 0; node < predecessors.size(); ++node) {
        graph.successor_begin[node + 1] += graph.successor_begin[node];
    }
    graph.successors.resize(size_t(graph.successor_begin.back()));
    std::vector<int64_t> next = graph.successor_begin;
    for (size_t node = 0; node < predecessors.size(); ++node) {
        for (int32_t predecessor : predecessors[node]) {
            graph.successors[size_t(next[size_t(predecessor)]++)] = int32_t(node);
        }
    }
    return graph;
}

std::span<const std::string_view> graph_names() {
    return kNames;
}

Graph make_independent(int32_t nodes) {
    return make_graph("independent", PredecessorLists(static_cast<size_t>(nodes)));
}

Graph make_chain(int32_t nodes) {
    PredecessorLists lists(static_cast<size_t>(nodes));
    for (int32_t node = 1; node < nodes; ++node) {
        lists[size_t(node)] = {node - 1};
    }
    return make_graph("chain", std::move(lists));
}

Graph make_fan(int32_t width) {
    PredecessorLists lists(size_t(width) + 2);
    for (int32_t node = 1; node <= width; ++node) {
        lists[size_t(node)] = {0};
        lists.back().push_back(node);
    }
    return make_graph("fan", std::move(lists));
}

Graph make_named_graph(std::string_view name, int32_t nodes, int32_t width) {
    if (name == "chain") {
        return make_chain(nodes);
    }
    if (name == "fan") {
        return make_fan(std::max(1, nodes - 2));
    }
    PredecessorLists lists;
    if (name == "bintree") {
        lists = binary_tree(nodes);
    } else if (name == "wavefront") {
        lists = wavefront(nodes);
    } else if (name == "random4") {
        lists = random_dag(nodes);
    } else {
        lists = task_bench(name, nodes, width);
    }
    return make_graph(std::string(name), std::move(lists));
}

}  // namespace leat::micro
