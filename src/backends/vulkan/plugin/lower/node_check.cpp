#include "backends/vulkan/plugin/lower/node_check.h"

#include <fmt/core.h>

#include <string>
#include <vector>

#include "backends/lowered/plugin_graph.h"
#include "backends/vulkan/plugin/lower/node_probe.h"

namespace leat::vulkan {
namespace {

constexpr int32_t kHostInputBits = 64;

[[noreturn]] void refuse(std::string reason) {
    throw plugin::Error(kLeatUnsupported, std::move(reason));
}

std::vector<DType> types_of_values(const LeatGraphView& graph, plugin::View<int32_t> values) {
    std::vector<DType> types;
    types.reserve(size_t(values.size()));
    for (const int32_t value : values) {
        types.push_back(value < 0 ? DType::kUndefined : DType(graph.values[value]->dtype));
        if (types.back() == DType::kString) {
            refuse("Vulkan devices hold no strings");
        }
        if (value >= 0 && types.back() == DType::kUndefined) {
            refuse(fmt::format("the type of '{}' is unknown", graph.values[value]->name));
        }
    }
    return types;
}

uint64_t graph_inputs_in(const LeatGraphView& graph, const LeatNodeView& node, uint32_t operands) {
    uint64_t bits = 0;
    for (int32_t k = 0; k < node.input_count && k < 32; ++k) {
        for (int32_t i = 0; (operands >> uint32_t(k) & 1U) != 0 && i < graph.input_count; ++i) {
            if (node.inputs[k] != graph.inputs[i]) {
                continue;
            }
            if (i >= kHostInputBits) {
                refuse(fmt::format("graph input {} is read on the host; the first {} may be", i,
                                   kHostInputBits));
            }
            bits |= uint64_t{1} << uint32_t(i);
        }
    }
    return bits;
}

}  // namespace

uint32_t check_node(const LeatGraphView& graph,
                    const LeatNodeView& node,
                    const NodeChecks& checks) {
    if (node.subgraph_count != 0) {
        refuse(fmt::format("no control flow: {} has the body {} of {} nodes", node.op_type,
                           node.subgraphs[0]->name, node.subgraphs[0]->graph->node_count));
    }
    const std::vector<DType> inputs = types_of_values(graph, plugin::inputs_of(node));
    const std::vector<DType> outputs = types_of_values(graph, plugin::outputs_of(node));
    const NodeData imported = lowered::import_node(node);
    const KernelTypes types{inputs, outputs};
    const NodeKernel kernel = find_kernel(imported, types, checks.operators);
    if (kernel.write == nullptr) {
        refuse(kernel.reason);
    }
    std::string reason;
    if (kernel.custom != nullptr) {
        reason = custom_refusal(*kernel.custom, imported, types, checks.limits, checks.disk);
    }
    if (reason.empty()) {
        reason = probe_node({graph, node, imported, kernel, checks.operators}, checks.limits);
    }
    if (!reason.empty()) {
        refuse(std::move(reason));
    }
    return kernel.host_inputs;
}

uint64_t check_graph(const LeatGraphView& graph, const NodeChecks& checks) {
    uint64_t host_inputs = 0;
    for (const LeatNodeView* node : plugin::nodes_of(graph)) {
        host_inputs |= graph_inputs_in(graph, *node, check_node(graph, *node, checks));
    }
    return host_inputs;
}

}  // namespace leat::vulkan
