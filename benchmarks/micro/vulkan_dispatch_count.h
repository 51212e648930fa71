// How many commands the Vulkan backend records for a network, with and without fusion. No device is
// needed: a program depends on a device's limits alone.
#pragma once

#include <string_view>

#include "backends/vulkan/kernel/kernel.h"
#include "leat/graph.h"
#include "leat/status.h"

namespace leat::micro {

// Commands (dispatches, copies and fills) of one run.
struct DispatchCount {
    int64_t written = 0;    // each node of the network as it is written
    int64_t rewritten = 0;  // each node that the host's passes leave
    int64_t fused = 0;      // as the backend does it
};

// Of a network of the zoo ("gpt2?layers=2") with fixed shapes. Errors: what the zoo, the passes and
// the kernels refuse.
Result<DispatchCount> count_dispatches(std::string_view network,
                                       const vulkan::KernelLimits& limits);

Result<DispatchCount> count_dispatches(const leat::Graph& graph,
                                       const vulkan::KernelLimits& limits);

// Of Mesa's lavapipe, and of a large GPU.
vulkan::KernelLimits cpu_device_limits();
vulkan::KernelLimits gpu_limits();

}  // namespace leat::micro
