// Whether a device can run a node as its shapes are: asked of the node's kernel before the node is
// given to the device.
#pragma once

#include <string>

#include "backends/vulkan/plugin/custom_operators.h"
#include "leat/plugin_backend.h"

namespace leat::vulkan {

struct CheckedNode {
    const LeatGraphView& graph;
    const LeatNodeView& view;
    const NodeData& node;  // the view's, imported
    const NodeKernel& kernel;
    const CustomOperators& operators;
};

// Why the device cannot run the node; empty if it can. The kernel writes its commands for the
// node's shapes, to nowhere: what it refuses then, and features that its shaders need and a device
// of these limits lacks. What is known at the run only (extents of symbols, host inputs) is made
// up, and then features alone count. A node of which that gives no shapes is not refused here:
// whoever makes its program meets the same checks. Costs a call of the node's kernel, and about 1
// ms for each new text of a shader where the device lacks any type.
std::string probe_node(const CheckedNode& checked, const KernelLimits& limits);

}  // namespace leat::vulkan
