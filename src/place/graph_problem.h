// A graph that is to be placed by cost, as a PartitionProblem: tasks, units, values and constants
// of the problem, and which of the graph each of them is.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "partition/partition_problem.h"
#include "place/cost_placement.h"

namespace leat {

struct GraphProblem {
    static constexpr int32_t kHostUnit = 0;

    // Borrowed.
    const PlacedByCost& question;
    const AssumedDevices& assumed;  // of question.listed
    const GraphWork& work;

    NodeCosts costs;
    PartitionProblem problem;
    std::vector<int32_t> unit_of_device;
    std::vector<int32_t> task_of_node;  // -1: it is no task
    std::map<int32_t, int32_t> values;  // of the problem, by value of the graph
    std::vector<ValueId> constants;     // of the graph, by constant of the problem

    const GraphData& graph() const { return question.graph; }
    // The device is not refused, and the node not pinned elsewhere.
    bool can_run(size_t node, size_t device) const;
    // The fastest of the unit's devices that takes the node, the first of equals; -1: none does.
    int device_on(size_t node, int32_t unit) const;
};

GraphProblem make_problem(const PlacedByCost& question, const GraphWork& work);

}  // namespace leat
