// CompactDag: a checked TaskDag as the compilers of the gears read it: predecessors of each task in
// one array, and an order in which every task follows its predecessors.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "leat/scheduler/task_dag.h"
#include "leat/status.h"

namespace leat::scheduler {

struct CompactDag {
    // Errors: see Program::compile.
    static Result<CompactDag> make(const TaskDag& dag);

    int32_t task_count() const { return int32_t(costs_ns.size()); }
    std::span<const int32_t> predecessors(int32_t task) const {
        return {preds.data() + pred_begin[size_t(task)],
                preds.data() + pred_begin[size_t(task) + 1]};
    }
    // The task with all its properties.
    Task task(int32_t index) const;
    std::span<const TaskDag::PointWait> point_waits_of(int32_t task) const;
    // The task at a place of the order.
    int32_t at(int32_t place) const { return order.empty() ? place : order[size_t(place)]; }

    std::vector<float> costs_ns;                   // by task; negative: unknown
    std::vector<int32_t> pred_begin;               // by task, and one more
    std::vector<int32_t> preds;                    // with duplicates, as given
    std::vector<int32_t> order;                    // topological; empty: the tasks' own numbers are
    std::vector<std::pair<TaskId, Task>> special;  // ascending
    std::vector<TaskDag::PointWait> point_waits;   // ascending by task
    int32_t point_count = 0;
};

// Successors of each task, from the predecessors.
struct SuccessorArrays {
    explicit SuccessorArrays(const CompactDag& dag);
    std::span<const int32_t> of(int32_t task) const {
        return {succs.data() + begin[size_t(task)], succs.data() + begin[size_t(task) + 1]};
    }

    std::vector<int32_t> begin;  // by task, and one more
    std::vector<int32_t> succs;
};

}  // namespace leat::scheduler
