#include "gears/find_circle.h"

#include <algorithm>

namespace leat::scheduler {

std::vector<TaskId> find_circle(std::span<const TaskDag::Edge> edges, int64_t task_count) {
    const auto count = static_cast<size_t>(task_count);
    std::vector<std::vector<size_t>> before(count);
    std::vector<std::vector<size_t>> after(count);
    std::vector<size_t> waits(count, 0);
    for (const TaskDag::Edge& edge : edges) {
        before[size_t(edge.after)].push_back(size_t(edge.before));
        after[size_t(edge.before)].push_back(size_t(edge.after));
        ++waits[size_t(edge.after)];
    }
    std::vector<size_t> ready;
    for (size_t task = 0; task < count; ++task) {
        if (waits[task] == 0) {
            ready.push_back(task);
        }
    }
    for (size_t i = 0; i < ready.size(); ++i) {
        for (const size_t next : after[ready[i]]) {
            if (--waits[next] == 0) {
                ready.push_back(next);
            }
        }
    }
    if (ready.size() == count) {
        return {};
    }
    // Every task that still waits has one before it that does too: going back ends in a circle.
    const auto is_waiting = [&](size_t task) { return waits[task] > 0; };
    size_t task = 0;
    while (!is_waiting(task)) {
        ++task;
    }
    std::vector<TaskId> path;
    while (std::find(path.begin(), path.end(), TaskId(task)) == path.end()) {
        path.push_back(TaskId(task));
        task = *std::find_if(before[task].begin(), before[task].end(), is_waiting);
    }
    path.erase(path.begin(), std::find(path.begin(), path.end(), TaskId(task)));
    path.push_back(TaskId(task));
    std::reverse(path.begin(), path.end());
    return path;
}

}  // namespace leat::scheduler
