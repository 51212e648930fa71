// Nodes whose inputs are all constants become constants, however large: weights computed in the
// graph.
#include <fmt/core.h>

#include "graph/bodies.h"
#include "passes/pass.h"
#include "passes/rewriter.h"

namespace leat {
namespace {

class ConstantFolder {
  public:
    ConstantFolder(GraphData& graph, PassContext& context)
        : graph_(graph), rewriter_(graph, context.history) {}

    Result<bool> run() {
        for (int n = 0; n < graph_.node_count(); ++n) {
            if (may_fold(graph_.node({n}))) {
                LEAT_RETURN_IF_ERROR(fold({n}));
            }
        }
        return rewriter_.changed();
    }

    int folded() const { return folded_; }
    int64_t result_bytes() const { return result_bytes_; }

  private:
    bool may_fold(const NodeData& node) const {
        if (node.dead || !may_be_evaluated(node)) {
            return false;
        }
        for (ValueId id : node.inputs) {
            if (id.valid() && constant_of(graph_, id) == nullptr) {
                return false;
            }
        }
        return true;
    }

    Status fold(NodeId id) {
        const NodeData& node = graph_.node(id);
        std::vector<ValueFact> facts(node.inputs.size());
        std::vector<const ValueFact*> inputs(node.inputs.size());
        std::vector<const Tensor*> values(node.inputs.size());
        for (size_t i = 0; i < node.inputs.size(); ++i) {
            values[i] = constant_of(graph_, node.inputs[i]);
            if (values[i] != nullptr) {
                facts[i].type = TypeInfo::tensor(values[i]->dtype(), values[i]->shape());
                LEAT_ASSIGN_OR_RETURN(facts[i].value, aligned(*values[i]));
                inputs[i] = &facts[i];
                values[i] = &*facts[i].value;
            }
        }
        if (!is_short(node, inputs)) {
            return {};
        }
        std::vector<ValueFact> outputs(node.outputs.size());
        LEAT_RETURN_IF_ERROR(infer_node(node, inputs, outputs));
        for (size_t i = 0; i < outputs.size(); ++i) {
            const TypeInfo& type = outputs[i].type;
            const bool may_fold = type.fixed_shape() || is_open_output(node, int32_t(i));
            if (!may_fold || type.dtype == DType::kUndefined) {
                return {};
            }
        }
        Result<std::vector<Tensor>> results = evaluate_node(node, values, outputs);
        // Bodies may have what only a run can do: loops of values that change their shapes.
        if (node.has_bodies() && results.error().code() == StatusCode::kUnsupported) {
            return {};
        }
        LEAT_RETURN_IF_ERROR(results.error());
        for (const Tensor& result : *results) {
            result_bytes_ += result.byte_count();
        }
        ++folded_;
        const std::vector<ValueId> read = node.inputs;
        rewriter_.become_constants(id, *std::move(results));
        for (ValueId input : read) {
            release_if_unused(input);
        }
        return {};
    }

    // Frees intermediate results as folding proceeds: chains of large weights would double the
    // memory.
    void release_if_unused(ValueId id) {
        if (id.valid() && rewriter_.is_unused(id)) {
            graph_.value(id).constant.reset();
        }
    }

    GraphData& graph_;
    Rewriter rewriter_;
    int folded_ = 0;
    int64_t result_bytes_ = 0;
};

}  // namespace

Result<bool> fold_constants(GraphData& graph, PassContext& context) {
    ConstantFolder folder(graph, context);
    LEAT_ASSIGN_OR_RETURN(const bool changed, folder.run());
    if (changed) {
        context.detail = fmt::format("{} nodes, {} bytes", folder.folded(), folder.result_bytes());
    }
    return changed;
}

}  // namespace leat
