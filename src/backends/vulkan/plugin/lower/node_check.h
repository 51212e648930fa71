// Which nodes of the host's graphs the backend takes.
#pragma once

#include <cstdint>

#include "backends/vulkan/plugin/custom_operators.h"
#include "leat/plugin_backend.h"

namespace leat::vulkan {

// What decides it; borrowed.
struct NodeChecks {
    const KernelLimits& limits;  // of the device
    const CustomOperators& operators;
    DiskCache* disk = nullptr;  // null: no cache
};

// Throws an Error that says why a device of these limits cannot run the node. Bit i of the result:
// input i is read on the host before the run.
uint32_t check_node(const LeatGraphView& graph, const LeatNodeView& node, const NodeChecks& checks);

// Throws for the first node that cannot be run. Bit i of the result: graph input i is a host input.
uint64_t check_graph(const LeatGraphView& graph, const NodeChecks& checks);

}  // namespace leat::vulkan
