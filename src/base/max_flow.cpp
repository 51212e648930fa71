#include "base/max_flow.h"

#include <algorithm>

namespace leat {

int32_t MaxFlow::add_node() {
    arcs_of_.emplace_back();
    level_.push_back(-1);
    return int32_t(arcs_of_.size()) - 1;
}

void MaxFlow::add_arc(int32_t from, int32_t to, int64_t capacity, int64_t reverse_capacity) {
    const auto index = int32_t(arcs_.size());
    arcs_.push_back({to, index + 1, capacity});
    arcs_.push_back({from, index, reverse_capacity});
    arcs_of_[size_t(from)].push_back(index);
    arcs_of_[size_t(to)].push_back(index + 1);
}

void MaxFlow::solve(int32_t source, int32_t sink) {
    while (assign_levels(source, sink)) {
        block_flow(source, sink);
    }
}

bool MaxFlow::assign_levels(int32_t source, int32_t sink) {
    std::fill(level_.begin(), level_.end(), -1);
    std::vector<int32_t> queue = {source};
    level_[size_t(source)] = 0;
    for (size_t next = 0; next < queue.size() && level_[size_t(sink)] < 0; ++next) {
        for (const int32_t index : arcs_of_[size_t(queue[next])]) {
            const Arc& arc = arcs_[size_t(index)];
            if (arc.capacity > 0 && level_[size_t(arc.to)] < 0) {
                level_[size_t(arc.to)] = level_[size_t(queue[next])] + 1;
                queue.push_back(arc.to);
            }
        }
    }
    return level_[size_t(sink)] >= 0;
}

// Depth-first over arcs that lead one level on, without recursion: a chain can be long.
void MaxFlow::block_flow(int32_t source, int32_t sink) {
    next_.assign(arcs_of_.size(), 0);
    std::vector<int32_t> path;
    int32_t node = source;
    while (true) {
        if (node == sink) {
            path.resize(push_path(path));
            node = path.empty() ? source : arcs_[size_t(path.back())].to;
            continue;
        }
        size_t& next = next_[size_t(node)];
        const std::vector<int32_t>& arcs = arcs_of_[size_t(node)];
        const auto leads_on = [&](int32_t index) {
            const Arc& arc = arcs_[size_t(index)];
            return arc.capacity > 0 && level_[size_t(arc.to)] == level_[size_t(node)] + 1;
        };
        while (next < arcs.size() && !leads_on(arcs[next])) {
            ++next;
        }
        if (next < arcs.size()) {
            path.push_back(arcs[next]);
            node = arcs_[size_t(arcs[next])].to;
        } else if (path.empty()) {
            return;
        } else {
            node = arcs_[size_t(arcs_[size_t(path.back())].reverse)].to;
            path.pop_back();
            ++next_[size_t(node)];
        }
    }
}

// Returns how many arcs of the path stand before the first that is now full.
size_t MaxFlow::push_path(const std::vector<int32_t>& path) {
    int64_t flow = kUnbounded;
    size_t narrowest = 0;
    for (size_t i = 0; i < path.size(); ++i) {
        const int64_t capacity = arcs_[size_t(path[i])].capacity;
        if (capacity < flow) {
            flow = capacity;
            narrowest = i;
        }
    }
    for (const int32_t index : path) {
        Arc& arc = arcs_[size_t(index)];
        arc.capacity -= flow;
        arcs_[size_t(arc.reverse)].capacity += flow;
    }
    return narrowest;
}

}  // namespace leat
