// Which nodes a device on the host runs. Each throws the reason for a no: kLeatUnsupported.
#pragma once

#include <cstdint>

#include "backends/backend.h"
#include "backends/host_device/own_operators.h"
#include "leat/plugin_backend.h"

namespace leat::host_device {

// Bit i: input i is read on the host before the run.
uint32_t check_node(const LeatGraphView& graph,
                    const LeatNodeView& node,
                    const Backend& kernels,
                    const Operators& operators);

// All nodes. Bit i: graph input i, of the first 64, is a host input.
uint64_t check_graph(const LeatGraphView& graph,
                     const Backend& kernels,
                     const Operators& operators);

// What a run of the node takes at the largest known shapes.
Cost largest_work(const LeatGraphView& graph, const LeatNodeView& node);

// At most; unknown extents count as one.
int64_t element_count(const LeatGraphView& graph, int32_t value);

}  // namespace leat::host_device
