#include "gears/compact_dag.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "base/error.h"
#include "gears/find_circle.h"

namespace leat::scheduler {
namespace {

constexpr int64_t kMostTasks = int64_t{1} << 30;  // an instruction holds a task in 30 bits
constexpr int64_t kMostEdges = INT32_MAX - 1;

Status check_task(int64_t index, const Task& task) {
    if (task.tile_count < 0 || task.tile_count > Task::kMaxTiles) {
        return invalid_argument("task {} has {} tiles", index, task.tile_count)
            .with_needed(fmt::format("0 to {}", Task::kMaxTiles));
    }
    if (task.affinity == Affinity::kCaller && task.tile_count > 1) {
        return invalid_argument("task {} has {} tiles and runs on the caller's thread only", index,
                                task.tile_count)
            .with_needed("at most one tile");
    }
    return {};
}

Status check_properties(const TaskDag& dag) {
    const int64_t count = dag.task_count();
    if (count > kMostTasks || int64_t(dag.edges().size()) > kMostEdges) {
        return invalid_argument("a program of {} tasks and {} edges", count, dag.edges().size())
            .with_needed(fmt::format("at most {} and {}", kMostTasks, kMostEdges));
    }
    for (int64_t i = 0; i < count; ++i) {
        const float cost = dag.costs_ns()[size_t(i)];
        if (!std::isfinite(cost) || (cost < 0 && cost != float(Task::kUnknownCost))) {
            return invalid_argument("task {} has cost {} ns", i, cost)
                .with_needed("a finite cost that is not negative, or Task::kUnknownCost");
        }
    }
    for (const auto& [id, task] : dag.special_tasks()) {
        LEAT_RETURN_IF_ERROR(check_task(int64_t(id), task));
    }
    if (!dag.bad_uses().empty()) {
        const auto& [task, buffer] = dag.bad_uses().front();
        return invalid_argument("task {} uses buffer {}, which was not added", int64_t(task),
                                int64_t(buffer));
    }
    for (const TaskDag::PointWait& wait : dag.point_waits()) {
        if (int64_t(wait.task) < 0 || int64_t(wait.task) >= count || int32_t(wait.point) < 0 ||
            int32_t(wait.point) >= dag.point_count()) {
            return invalid_argument("task {} waits for point {}", int64_t(wait.task),
                                    int64_t(wait.point))
                .with_needed(fmt::format("a task in [0, {}) and a point in [0, {})", count,
                                         dag.point_count()));
        }
    }
    return {};
}

struct EdgeOrder {
    bool by_after = true;  // edges are sorted by the task that follows
    bool forward = true;   // every edge leads to a task that was added later
};

Result<EdgeOrder> check_edges(const TaskDag& dag) {
    const auto count = uint32_t(dag.task_count());
    EdgeOrder order;
    int32_t last = 0;
    for (const TaskDag::Edge& edge : dag.edges()) {
        const auto before = int32_t(edge.before);
        const auto after = int32_t(edge.after);
        if (uint32_t(before) >= count || uint32_t(after) >= count) {
            return invalid_argument("an edge leads from task {} to task {}", before, after)
                .with_needed(fmt::format("tasks in [0, {})", count));
        }
        order.by_after = order.by_after && after >= last;
        order.forward = order.forward && before < after;
        last = after;
    }
    return order;
}

void fill_predecessors(const TaskDag& dag, bool by_after, CompactDag& compact) {
    const std::span<const TaskDag::Edge> edges = dag.edges();
    compact.pred_begin.assign(size_t(dag.task_count()) + 1, 0);
    compact.preds.resize(edges.size());
    for (const TaskDag::Edge& edge : edges) {
        ++compact.pred_begin[size_t(edge.after) + 1];
    }
    for (size_t i = 1; i < compact.pred_begin.size(); ++i) {
        compact.pred_begin[i] += compact.pred_begin[i - 1];
    }
    if (by_after) {
        std::transform(edges.begin(), edges.end(), compact.preds.begin(),
                       [](const TaskDag::Edge& edge) { return int32_t(edge.before); });
        return;
    }
    std::vector<int32_t> next(compact.pred_begin.begin(), compact.pred_begin.end() - 1);
    for (const TaskDag::Edge& edge : edges) {
        compact.preds[size_t(next[size_t(edge.after)]++)] = int32_t(edge.before);
    }
}

std::string name_cycle(const TaskDag& dag) {
    constexpr size_t kMostNames = 16;
    std::string text;
    size_t named = 0;
    for (const TaskId task : find_circle(dag.edges(), dag.task_count())) {
        if (++named > kMostNames) {
            return text.append(" -> ...");
        }
        text.append(text.empty() ? "" : " -> ").append(std::to_string(int32_t(task)));
    }
    return text;
}

// Kahn's algorithm, lowest number first among those found at the same time.
// False: there is a cycle.
bool order_tasks(CompactDag& dag) {
    const SuccessorArrays successors(dag);
    const int32_t count = dag.task_count();
    std::vector<int32_t> missing(static_cast<size_t>(count));
    dag.order.reserve(size_t(count));
    for (int32_t task = 0; task < count; ++task) {
        missing[size_t(task)] = int32_t(dag.predecessors(task).size());
        if (missing[size_t(task)] == 0) {
            dag.order.push_back(task);
        }
    }
    for (size_t next = 0; next < dag.order.size(); ++next) {
        for (const int32_t successor : successors.of(dag.order[next])) {
            if (--missing[size_t(successor)] == 0) {
                dag.order.push_back(successor);
            }
        }
    }
    return dag.order.size() == size_t(count);
}

}  // namespace

Result<CompactDag> CompactDag::make(const TaskDag& dag) {
    LEAT_RETURN_IF_ERROR(check_properties(dag));
    LEAT_ASSIGN_OR_RETURN(const EdgeOrder edge_order, check_edges(dag));
    CompactDag compact;
    compact.costs_ns.assign(dag.costs_ns().begin(), dag.costs_ns().end());
    compact.special.assign(dag.special_tasks().begin(), dag.special_tasks().end());
    compact.point_waits.assign(dag.point_waits().begin(), dag.point_waits().end());
    std::stable_sort(compact.point_waits.begin(), compact.point_waits.end(),
                     [](const auto& a, const auto& b) { return a.task < b.task; });
    compact.point_count = dag.point_count();
    fill_predecessors(dag, edge_order.by_after, compact);
    if (!edge_order.forward && !order_tasks(compact)) {
        return invalid_argument("the tasks wait for each other in a circle: {}", name_cycle(dag))
            .with_needed("a graph without cycles");
    }
    return compact;
}

Task CompactDag::task(int32_t index) const {
    const auto found =
        std::lower_bound(special.begin(), special.end(), TaskId(index),
                         [](const auto& entry, TaskId id) { return entry.first < id; });
    Task task = found != special.end() && found->first == TaskId(index) ? found->second : Task{};
    task.cost_ns = costs_ns[size_t(index)];
    return task;
}

std::span<const TaskDag::PointWait> CompactDag::point_waits_of(int32_t task) const {
    const auto begin = std::lower_bound(point_waits.begin(), point_waits.end(), TaskId(task),
                                        [](const auto& wait, TaskId id) { return wait.task < id; });
    auto end = begin;
    while (end != point_waits.end() && end->task == TaskId(task)) {
        ++end;
    }
    return {begin, end};
}

SuccessorArrays::SuccessorArrays(const CompactDag& dag)
    : begin(size_t(dag.task_count()) + 1, 0), succs(dag.preds.size()) {
    for (const int32_t pred : dag.preds) {
        ++begin[size_t(pred) + 1];
    }
    for (size_t i = 1; i < begin.size(); ++i) {
        begin[i] += begin[i - 1];
    }
    std::vector<int32_t> next(begin.begin(), begin.end() - 1);
    for (int32_t task = 0; task < dag.task_count(); ++task) {
        for (const int32_t pred : dag.predecessors(task)) {
            succs[size_t(next[size_t(pred)]++)] = task;
        }
    }
}

}  // namespace leat::scheduler
