#include "support/virtual_clock/timed_tasks.h"

#include <optional>
#include <utility>

namespace leat::testing_support {
namespace {

using scheduler::TaskDag;
using scheduler::TaskId;

std::vector<scheduler::Task> tasks_of(const TaskDag& dag) {
    std::vector<scheduler::Task> tasks;
    for (const float cost_ns : dag.costs_ns()) {
        tasks.push_back({.cost_ns = cost_ns});
    }
    for (const auto& [id, task] : dag.special_tasks()) {
        tasks[size_t(id)] = task;
    }
    return tasks;
}

}  // namespace

TimedTasks timed_tasks(const StepTasks& program, std::span<const int64_t> ns) {
    TimedTasks timed;
    TaskDag& dag = timed.program.dag;
    for (int32_t point = 0; point < program.dag.point_count(); ++point) {
        dag.add_point();
    }
    // By task of `program`: what it is now, and what others wait for.
    std::vector<TaskId> first;
    std::vector<TaskId> last;
    std::optional<TaskId> on_lane;
    const std::vector<scheduler::Task> tasks = tasks_of(program.dag);
    for (size_t t = 0; t < tasks.size(); ++t) {
        const StepTask& does = program.tasks[t];
        const TaskId task = dag.add(tasks[t]);
        timed.program.tasks.push_back(does);
        timed.elapses.emplace_back();
        first.push_back(task);
        last.push_back(task);
        if (does.kind != StepTask::Kind::kHost || ns[size_t(does.step)] == 0) {
            continue;
        }
        const TaskId end = dag.add({.cost_ns = 0});
        const scheduler::PointId point = dag.add_point();
        dag.precede(task, end);
        dag.wait_for(end, point, 1);
        timed.program.tasks.push_back(
            {.step = does.step, .kind = StepTask::Kind::kFinish, .point = point});
        timed.elapses.back() = {ns[size_t(does.step)], end, point};
        timed.elapses.emplace_back();
        last.back() = end;
        if (on_lane) {
            dag.precede(*on_lane, task);
        }
        on_lane = task;
    }
    for (StepTask& does : timed.program.tasks) {
        if (does.kind == StepTask::Kind::kSubmit) {
            does.finish = first[size_t(does.finish)];
        }
    }
    for (const TaskDag::Edge& edge : program.dag.edges()) {
        dag.precede(last[size_t(edge.before)], first[size_t(edge.after)]);
    }
    for (const TaskDag::PointWait& wait : program.dag.point_waits()) {
        dag.wait_for(first[size_t(wait.task)], wait.point, wait.value);
    }
    return timed;
}

}  // namespace leat::testing_support
