// GraphPlan: a TaskGraph checked and compiled, shared by its instances. Immutable.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "leat/scheduler/program.h"
#include "leat/scheduler/task_graph.h"
#include "task_graph/task_graph_data.h"
#include "threads/blocking_pool.h"

namespace leat::scheduler::detail {

struct NodePlan {
    NodeBody* body = nullptr;  // null: a source
    int32_t first_input = 0;   // in GraphPlan::inputs
    int32_t input_count = 0;
    int32_t readers = 0;       // inputs that read the value
    int32_t first_child = -1;  // in GraphPlan::children; -1: no sub-graph
    int32_t job = -1;          // in GraphPlan::jobs; -1: runs on a worker
    bool has_value = false;
    bool is_kept = false;  // the value is a result
    // One reader, which may take the value away.
    bool may_move() const { return readers == 1 && !is_kept; }
};

// A node in the blocking pool is two tasks: kPost hands it over, kFinish starts when it has ended.
enum class TaskPhase : uint8_t { kCall, kPost, kFinish };

struct TaskPlan {
    int32_t node;
    TaskPhase phase;
};

struct JobPlan {
    int32_t node;
    PointId point;  // 1: the callable has returned
};

struct GraphPlan {
    std::shared_ptr<const TaskGraphData> graph;  // keeps bodies and names
    int64_t version = 0;                         // of the graph
    int workers = 1;
    std::vector<int> worker_domains;  // of the executors that it is for
    bool is_traced = false;
    bool has_caller_node = false;
    Program program;
    std::vector<NodePlan> nodes;
    std::vector<int32_t> inputs;
    std::vector<TaskPlan> tasks;
    std::vector<JobPlan> jobs;
    std::vector<int32_t> sources;
    std::vector<int32_t> results;    // nodes that keep their value, sources excepted
    std::vector<bool> takes_source;  // by node: a consumer takes a source's value away
    std::vector<std::shared_ptr<const GraphPlan>> children;
    std::shared_ptr<BlockingPool> pool;  // null: no node needs it
    size_t domains = 0;                  // of the executors that it is for
    int64_t numa_hints = 0;              // nodes with one
    GraphReport report;
};

// What the report says of the program and what has no effect in it, as the program is now.
void write_program_report(GraphPlan& plan);

// Of a graph that is no part of another, for executors with such workers.
// Errors: see TaskGraph::compile.
Result<std::shared_ptr<const GraphPlan>> compile_graph(std::shared_ptr<const TaskGraphData> graph,
                                                       const ExecutorReport& executor);

}  // namespace leat::scheduler::detail
