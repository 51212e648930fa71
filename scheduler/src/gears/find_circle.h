// Tasks that wait for each other.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "leat/scheduler/task_dag.h"

namespace leat::scheduler {

// Some circle of the graph, each task before the next, the first again at the end; empty if there
// is none. Edges are between tasks in [0, task_count).
std::vector<TaskId> find_circle(std::span<const TaskDag::Edge> edges, int64_t task_count);

}  // namespace leat::scheduler
