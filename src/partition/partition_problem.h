// Placing and dividing a graph by cost, as integers: tasks, the units that can run them, and parts.
//
// A unit is a device, or the host with all its backends and workers. Tasks of a unit that runs
// parts are submitted together, as parts: a part begins when everything that it reads from outside
// is there, runs its tasks one after the other, and gives all results at its end.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "leat/scheduler/placement.h"

namespace leat {

// Where graphs have their inputs from. Constants are there whatever runs where, and a result may
// lie over an operand of its size.
//
// Parts of units there read only what lies in the host's arena. The first unit, which runs none,
// copies into it what the caller has elsewhere.
constexpr int32_t kHostDomain = 0;

struct PartitionUnit {
    std::string name;
    int32_t domain = 0;
    int32_t lane_count = 1;  // parts, or tasks, that it runs at once
    bool runs_parts = false;
    double submit_ns = 0;  // of each part, besides its tasks
};

struct ConstantUse {
    int32_t constant = 0;
    int32_t task = 0;
};

// `value` lies where `below` does if its producer is no part.
struct ValueOverlay {
    int32_t value = 0;
    int32_t below = 0;  // -1: one of the caller's, which nothing but the host reads
};

struct PartitionProblem {
    static constexpr double kCannotRun = scheduler::PlacementProblem::kCannotRun;

    int32_t task_count = 0;  // in topological order
    int32_t domain_count = 1;
    std::vector<PartitionUnit> units;
    std::vector<double> cost_ns;  // [task][unit], row-major; kCannotRun: not on this unit
    // As scheduler::PlacementProblem has them.
    std::vector<scheduler::PlacementValue> values;
    std::vector<scheduler::PlacementUse> uses;
    std::vector<scheduler::PlacementLink> links;
    std::vector<int32_t> link_between;

    // Values in memory of the caller, and what lies over others, ascending by `value`, each behind
    // what is below it. Empty: all that kHostDomain has is in the arena.
    std::vector<int32_t> callers_values;
    std::vector<ValueOverlay> overlays;
    double arena_copy_bytes_per_s = 1e10;

    // What the memory of a domain holds at most; 0: not limited. Empty: none is.
    std::vector<int64_t> capacity_bytes;
    // By value: what it takes in kHostDomain at least, as it may be a view or memory of the caller.
    // Empty: what `values` say.
    std::vector<int64_t> host_bytes;
    // Constants stay in every domain where some task reads them, but for those that are streamed.
    std::vector<int64_t> constant_bytes;
    std::vector<ConstantUse> constant_uses;
    // [constant][domain]: whatever reads it there takes it as a value of the run, too. Empty: none.
    std::vector<bool> may_stream;
    int32_t request_count = 1;  // that have values in the memories at a time, each its own

    double cost(int32_t task, int32_t unit) const {
        return cost_ns[size_t(task) * units.size() + size_t(unit)];
    }
    // The first of those where it takes least.
    int32_t cheapest_unit(int32_t task) const;
    // Of the value over the link from one memory to another.
    double copy_ns(int32_t value, int32_t from, int32_t to) const;
    // Of a value that lies outside of the arena, by the host's lane.
    double arena_copy_ns(int32_t value) const {
        return double(values[size_t(value)].bytes) * 1e9 / arena_copy_bytes_per_s;
    }
};

constexpr int32_t kNoPart = -1;

constexpr int32_t kNoTask = -1;

// A constant that does not stay in the domain: each run copies it there for the parts that read it.
struct StreamedConstant {
    int32_t constant = 0;
    int32_t domain = 0;
    int32_t after_task = kNoTask;  // the copy begins when the part of this task has ended
};

struct Partition {
    std::vector<int32_t> unit_of_task;
    std::vector<int32_t> part_of_task;  // kNoPart: its unit runs no parts
    int32_t part_count = 0;
    // As stream_constants() has it.
    std::vector<StreamedConstant> streamed = {};
    // Besides values: the part of the first task ends before that of the second one begins.
    std::vector<std::pair<int32_t, int32_t>> part_orders = {};
};

inline int32_t domain_of(const PartitionProblem& problem,
                         const Partition& partition,
                         int32_t task) {
    return problem.units[size_t(partition.unit_of_task[size_t(task)])].domain;
}

// Parts get numbers in the order of their first tasks, without gaps.
void number_parts(Partition& partition);

// Who reads whose values, by task; each pair once, ascending.
struct TaskEdges {
    explicit TaskEdges(const PartitionProblem& problem);

    std::vector<std::vector<int32_t>> producers;
    std::vector<std::vector<int32_t>> readers;
};

// By value: kHostDomain has it outside of the arena.
std::vector<bool> values_outside_arena(const PartitionProblem& problem, const Partition& partition);

// Tasks alone, with the lanes of the units one after the other. has_submits: every task of a unit
// that runs parts is a part of its own.
scheduler::PlacementProblem task_problem(const PartitionProblem& problem, bool has_submits);
std::vector<int32_t> unit_of_lanes(const PartitionProblem& problem);

// Parts, and tasks without one, as the tasks of a problem whose units are decided. It has a cycle
// where parts wait for each other.
struct GroupedProblem {
    scheduler::PlacementProblem problem;
    std::vector<int32_t> group_of_task;
    std::vector<int32_t> value_of;  // by value of `problem`: what it is of the whole
};
GroupedProblem grouped_problem(const PartitionProblem& problem, const Partition& partition);

}  // namespace leat
