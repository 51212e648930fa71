#include "backends/host_device/capability.h"

#include <fmt/format.h>

#include <algorithm>

namespace leat::host_device {
namespace {

[[noreturn]] void refuse(std::string reason) {
    throw plugin::Error(kLeatUnsupported, std::move(reason));
}

void check_strings(const LeatGraphView& graph, plugin::View<int32_t> values) {
    for (const int32_t value : values) {
        if (value >= 0 && DType(graph.values[value]->dtype) == DType::kString) {
            refuse("no memory domain holds strings");
        }
    }
}

bool is_read(const LeatGraphView& graph, int32_t value) {
    return std::any_of(graph.nodes, graph.nodes + graph.node_count, [&](const LeatNodeView* node) {
        return std::find(node->inputs, node->inputs + node->input_count, value) !=
               node->inputs + node->input_count;
    });
}

void check_non_zero(const LeatGraphView& graph, const LeatNodeView& view) {
    if (is_read(graph, view.outputs[0]) ||
        DType(graph.values[view.inputs[0]]->dtype) != DType::kFloat32) {
        refuse("NonZero reads f32 here, and no other node may read its result");
    }
}

}  // namespace

uint32_t check_node(const LeatGraphView& graph,
                    const LeatNodeView& view,
                    const Backend& kernels,
                    const Operators& operators) {
    if (view.subgraph_count != 0) {
        refuse(fmt::format("no control flow: {} has the body {} of {} nodes", view.op_type,
                           view.subgraphs[0]->name, view.subgraphs[0]->graph->node_count));
    }
    check_strings(graph, plugin::inputs_of(view));
    check_strings(graph, plugin::outputs_of(view));
    const NodeData node = lowered::import_node(view);
    if (operators.is_registered(node)) {
        if (!operators.kernel_of(node)) {
            refuse(fmt::format("operator {}.{} has no kernel here", node.domain, node.op_type));
        }
        return 0;
    }
    if (is_non_zero(node)) {
        check_non_zero(graph, view);
        return 0;
    }
    if (std::string reason = kernels.refusal(node); !reason.empty()) {
        refuse(std::move(reason));
    }
    return node.def->shape_inputs;
}

uint64_t check_graph(const LeatGraphView& graph,
                     const Backend& kernels,
                     const Operators& operators) {
    uint64_t host_inputs = 0;
    for (const LeatNodeView* node : plugin::nodes_of(graph)) {
        const uint32_t wanted = check_node(graph, *node, kernels, operators);
        for (int32_t k = 0; k < node->input_count && k < 32; ++k) {
            for (int32_t i = 0; i < graph.input_count && i < 64; ++i) {
                const bool is_it = (wanted >> k & 1) != 0 && node->inputs[k] == graph.inputs[i];
                host_inputs |= is_it ? uint64_t{1} << i : 0;
            }
        }
    }
    return host_inputs;
}

int64_t element_count(const LeatGraphView& graph, int32_t value) {
    int64_t elements = 1;
    const LeatValueView& view = *graph.values[value];
    for (int32_t i = 0; i < view.rank; ++i) {
        const LeatDim dim = view.dims[i];
        const int64_t bound = dim.symbol >= 0 ? graph.symbols[dim.symbol]->max_extent : dim.extent;
        elements *= std::max<int64_t>(bound, 1);
    }
    return elements;
}

}  // namespace leat::host_device
