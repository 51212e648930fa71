// Values that follow from the shapes alone become constants, and Reshape gets a constant target
// where the symbolic extents allow one, so that the computation of its shape is dead.
#include <fmt/core.h>

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

}  // namespace

Result<bool> simplify_shape_arithmetic(GraphData& graph, PassContext& context) {
    Rewriter rewriter(graph, context.history);
    int constants = 0;
    int reshapes = 0;
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
    }
    if (rewriter.changed()) {
        context.detail = fmt::format("{} constants, {} reshapes", constants, reshapes);
    }
    return rewriter.changed();
}

}  // namespace leat
