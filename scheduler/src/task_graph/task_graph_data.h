// TaskGraphData: a TaskGraph as it was built. Not checked: see task_graph_plan.h.
//
// Thread safety: changed by the one thread that builds. Nodes never move, so plans and instances
// keep pointers to bodies and names while the graph grows.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "leat/scheduler/task_graph.h"

namespace leat::scheduler::detail {

class ControlBody;

// A graph, those inside it, those inside these, ...: at most so many. Compiling, running and
// destroying go down into them on the stack of one thread, and take 2 KiB a level; 9 KiB with the
// address sanitizer, which fits the 4 MiB that oneTBB gives its threads.
constexpr int32_t kMostNestedGraphs = 400;

struct NodeRecord {
    bool is_source() const { return body == nullptr; }
    bool has_value() const { return type.bytes != 0; }

    std::string name;
    std::unique_ptr<NodeBody> body;  // null: a source
    // `body`, if it runs sub-graphs. Kept beside it because a program may be built without run-time
    // type information.
    const ControlBody* control = nullptr;
    ValueType type;
    int32_t first_input = 0;  // in TaskGraphData::inputs
    int32_t input_count = 0;
    bool is_sink = false;
    Priority priority = Priority::kNormal;
    Domain domain = Domain::any();
    double cost_ns = Task::kUnknownCost;
};

struct TaskGraphData {
    struct Input {
        int32_t node;
        bool needs_only_consumer;
    };
    struct Edge {
        int32_t before;
        int32_t after;
    };
    struct Use {
        int32_t node;
        int32_t resource;
        Access access;
    };

    // Keeps the first error of building.
    void fail(Status status) {
        if (error.ok()) {
            error = std::move(status);
        }
    }
    int32_t node_count() const { return int32_t(nodes.size()); }

    GraphOptions options;
    int32_t nested_graphs = 1;  // on the longest way inside, this one included
    std::deque<NodeRecord> nodes;
    std::vector<Input> inputs;
    std::vector<Edge> order;  // from after()
    std::vector<Use> uses;    // in the order of declaration
    std::vector<std::string> resources;
    Status error;
    int64_t version = 0;  // of everything above
};

}  // namespace leat::scheduler::detail
