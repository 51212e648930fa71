// Whether a device lacks arithmetic that a node's kernels need, asked before the node is given to
// it.
#pragma once

#include <cstdint>
#include <string>

#include "backends/vulkan/kernel.h"
#include "leat/plugin_backend.h"

namespace leat::vulkan {

struct CheckedNode {
    const LeatGraphView& graph;
    const LeatNodeView& view;
    const NodeData& node;      // the view's, imported
    const KernelEntry& entry;  // that takes the node
    uint32_t host_inputs = 0;  // bit i: input i is read on the host before the run
};

// The features that the node's shaders need and a device of these limits lacks, as a reason to
// refuse it; empty if there are none. Shaders are those that the kernel names for the node's
// shapes; what is known at the run only (extents of symbols, host inputs) is made up. A node of
// which that gives no shapes is not refused here: whoever makes its program meets the same check.
// Costs nothing where the device has every type; else a call of the node's kernel, and about 1 ms
// for each new text of a shader.
std::string feature_refusal(const CheckedNode& checked, const KernelLimits& limits);

}  // namespace leat::vulkan
