#include "backends/host_device/capability.h"

#include <fmt/core.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "backends/host_device/host_program.h"

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

// Without a bound: one.
int64_t largest_extent(const LeatGraphView& graph, LeatDim dim) {
    const int64_t bound = dim.symbol >= 0 ? graph.symbols[dim.symbol]->max_extent : -1;
    return dim.extent >= 0 ? dim.extent : std::max<int64_t>(bound, 1);
}

// Row-major, with elements where they are known; nothing if a rank is not, because operators' costs
// read extents.
std::optional<std::vector<TensorArg>> largest_args(const LeatGraphView& graph,
                                                   plugin::View<int32_t> values) {
    std::vector<TensorArg> args;
    for (const int32_t value : values) {
        if (value < 0) {
            args.emplace_back();
            continue;
        }
        const LeatValueView& view = *graph.values[value];
        if (view.rank < 0 || view.rank > kMaxRank) {
            return std::nullopt;
        }
        Shape shape;
        for (int32_t i = 0; i < view.rank; ++i) {
            shape.append(largest_extent(graph, view.dims[i]));
        }
        const void* data = view.constant == nullptr ? nullptr : view.constant->tensor->data;
        args.push_back(row_major_arg(DType(view.dtype), shape, data));
    }
    return args;
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
    if (open_outputs_of(node) != 0) {
        refuse(fmt::format("only a run knows how large the results of {} are", node.op_type));
    }
    return shape_inputs_of(node);
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
        elements *= largest_extent(graph, view.dims[i]);
    }
    return elements;
}

Cost largest_work(const LeatGraphView& graph, const LeatNodeView& view) {
    const std::optional<std::vector<TensorArg>> inputs =
        largest_args(graph, plugin::inputs_of(view));
    const std::optional<std::vector<TensorArg>> outputs =
        largest_args(graph, plugin::outputs_of(view));
    if (!inputs || !outputs) {
        return {};
    }
    return work_of_node(lowered::import_node(view), *inputs, *outputs);
}

}  // namespace leat::host_device
