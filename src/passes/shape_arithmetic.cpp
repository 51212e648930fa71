// Values that follow from the shapes alone become constants, and Reshape gets a constant target
// where the symbolic extents allow one, so that the computation of its shape is dead. What is left
// is computed by every plan: numbers that exporters take apart and make lists again stay lists.
#include <fmt/core.h>

#include <string>
#include <utility>

#include "ops/shape_of/shape_of.h"
#include "passes/pass.h"
#include "passes/rewriter.h"

namespace leat {
namespace {

// The results of a node if inference knows all of them; else empty.
std::vector<Tensor> known_results(const NodeData& node, const PassContext& context) {
    std::vector<Tensor> results;
    for (ValueId output : node.outputs) {
        if (!output.valid()) {
            results.emplace_back();
            continue;
        }
        const std::optional<Tensor>& value = context.facts[size_t(output.index)].value;
        if (!value) {
            return {};
        }
        results.push_back(*value);
    }
    return results;
}

Status fix_reshape(Rewriter& rewriter, NodeId id, const PassContext& context) {
    const NodeData& node = rewriter.graph().node(id);
    if (constant_of(rewriter.graph(), node.inputs[1]) != nullptr ||
        !context.has_facts(node.inputs[0])) {
        return {};
    }
    const std::optional<std::vector<int64_t>> target =
        reshape_target(context.type(node.inputs[0]), context.type(node.outputs[0]));
    if (!target) {
        return {};
    }
    LEAT_ASSIGN_OR_RETURN(const ValueId shape, rewriter.add_ints(node.name + ".shape", *target));
    rewriter.become(id, "Reshape", {rewriter.graph().node(id).inputs[0], shape}, {});
    return {};
}

// The list of one extent: `Shape` itself can cut it out.
bool take_extent(Rewriter& rewriter, NodeId id, const PassContext& context) {
    const GraphData& graph = rewriter.graph();
    const NodeData* gather = producer_of(graph, graph.node(id).inputs[0], "Gather");
    const NodeData* shape =
        gather == nullptr ? nullptr : producer_of(graph, gather->inputs[0], "Shape");
    if (shape == nullptr || !context.has_facts(shape->inputs[0])) {
        return false;
    }
    const ValueId x = shape->inputs[0];
    const int rank = context.type(x).rank();
    const std::optional<std::vector<int64_t>> index = ints_of(graph, gather->inputs[1]);
    if (rank < 0 || !index || index->size() != 1) {
        return false;
    }
    const auto [begin, end] = shape_axis_range(*shape, rank);
    const int64_t axis = index->front() + (index->front() < 0 ? end : begin);
    if (axis < begin || axis >= end) {
        return false;  // inference says what is wrong with it
    }
    Attributes part;
    if (rank > 1) {
        part = {{"start", axis}, {"end", axis + 1}};
    }
    return rewriter.replace_pattern(id, "Shape", {x}, std::move(part));
}

// The list of the one number that a list is reduced to: the reduction can keep the axis.
bool keep_axis(Rewriter& rewriter, NodeId id, const PassContext& context) {
    const GraphData& graph = rewriter.graph();
    const ValueId number = graph.node(id).inputs[0];
    const NodeId producer = graph.value(number).producer;
    if (!producer.valid() || rewriter.only_reader(number) != id) {
        return false;
    }
    const NodeData& reduction = graph.node(producer);
    if (!reduction.domain.empty() || !reduction.op_type.starts_with("Reduce") ||
        !reduction.epilogue.empty() || !context.has_facts(reduction.inputs[0]) ||
        context.type(reduction.inputs[0]).rank() != 1) {
        return false;
    }
    const std::string op_type = reduction.op_type;
    Attributes attributes = reduction.attributes;
    attributes.insert_or_assign("keepdims", int64_t{1});
    return rewriter.replace_pattern(id, op_type.c_str(), reduction.inputs, std::move(attributes));
}

// A node that makes a list of one number. Axes and targets that only a run knows may be wrong.
bool is_list_of_number(const GraphData& graph, const NodeData& node, const PassContext& context) {
    return node.inputs.size() == 2 && constant_of(graph, node.inputs[1]) != nullptr &&
           node.domain.empty() && (node.op_type == "Reshape" || node.op_type == "Unsqueeze") &&
           context.has_facts(node.inputs[0]) && context.has_facts(node.outputs[0]) &&
           context.type(node.inputs[0]).rank() == 0 && context.type(node.outputs[0]).rank() == 1;
}

}  // namespace

Result<bool> simplify_shape_arithmetic(GraphData& graph, PassContext& context) {
    Rewriter rewriter(graph, context.history);
    int constants = 0;
    int reshapes = 0;
    int lists = 0;
    const int node_count = graph.node_count();
    for (int n = 0; n < node_count; ++n) {
        const NodeData& node = graph.node({n});
        if (node.dead || node.def->nondeterministic) {
            continue;
        }
        if (std::vector<Tensor> results = known_results(node, context); !results.empty()) {
            rewriter.become_constants({n}, std::move(results));
            ++constants;
        } else if (node.domain.empty() && node.op_type == "Reshape") {
            const int before = rewriter.changes();
            LEAT_RETURN_IF_ERROR(fix_reshape(rewriter, {n}, context));
            reshapes += rewriter.changes() != before ? 1 : 0;
        }
        if (!node.dead && is_list_of_number(graph, node, context)) {
            const bool is_changed =
                take_extent(rewriter, {n}, context) || keep_axis(rewriter, {n}, context);
            lists += is_changed ? 1 : 0;
        }
    }
    if (rewriter.changed()) {
        context.detail =
            fmt::format("{} constants, {} reshapes, {} lists", constants, reshapes, lists);
    }
    return rewriter.changed();
}

}  // namespace leat
