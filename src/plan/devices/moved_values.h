// Foresees, before there is a plan, what a run of a graph with parts copies between memories.
//
//   value --> its copy in each memory of a device where it is read, once
//         --> its copy on the host, if it is read or wanted outside of the memory that it is made
//         in
//
// Transfers of a plan (plan_transfers.h) are these: tests/conformance/placement_check.cpp holds
// both together on random placements.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "graph/graph_data.h"
#include "graph/op_def.h"
#include "machine/device_part.h"

namespace leat {

struct ValueMove {
    ValueId value;
    int part = 0;  // that reads it first, or has made it
    bool is_to_device = false;
};

// By value: made in one memory, and read in another one or given out by the graph, so that it has
// to be on the host. memory_of_node: by node of `cut`, in any numbers. is_needed: as
// needed_nodes().
std::vector<bool> values_wanted_on_host(const GraphData& cut,
                                        std::span<const int> memory_of_node,
                                        const std::vector<bool>& is_needed);

// By value: the host has it in memory of the caller, from where it is copied for parts that work in
// the arena. cut: with a node for each part. values: by value, as lies_over_operands says.
std::vector<bool> values_of_callers(const GraphData& cut, std::span<const TensorArg> values);

// Part by part. domain_of_part: kHostMemory of those that work in the arena. are_outside: of
// values_of_callers(). is_known: by value, as PlanFacts::known.
std::vector<ValueMove> moved_values(const GraphData& cut,
                                    std::span<const std::shared_ptr<const DevicePart>> parts,
                                    std::span<const int> domain_of_part,
                                    const std::vector<bool>& are_outside,
                                    const std::vector<bool>& is_known);

}  // namespace leat
