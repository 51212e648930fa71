// Element-wise operators after Conv, Gemm and MatMul become steps of their epilogue: the results
// are finished while they are in registers or in the first cache.
#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "passes/pass.h"
#include "passes/rewriter.h"

namespace leat {
namespace {

constexpr size_t kMaxSteps = 4;

bool takes_epilogue(const NodeData& node) {
    return !node.dead && node.domain.empty() && !node.has_bodies() && node.outputs.size() == 1 &&
           (node.op_type == "Conv" || node.op_type == "Gemm" || node.op_type == "MatMul");
}

bool is_binary_step(std::string_view op) {
    constexpr std::array<std::string_view, 4> kOps = {"Add", "Sub", "Mul", "Div"};
    return std::find(kOps.begin(), kOps.end(), op) != kOps.end();
}

class EpilogueFuser {
  public:
    EpilogueFuser(GraphData& graph, PassContext& context)
        : graph_(graph), context_(context), rewriter_(graph, context.history) {}

    int run() {
        for (int n = 0; n < graph_.node_count(); ++n) {
            while (takes_epilogue(graph_.node({n})) && fuse_reader({n})) {
                ++fused_;
            }
        }
        return fused_;
    }

  private:
    // Takes the only reader of the node's result into its epilogue.
    bool fuse_reader(NodeId id) {
        const ValueId result = graph_.node(id).outputs[0];
        const std::optional<NodeId> reader = rewriter_.only_reader(result);
        if (!reader || graph_.node(id).epilogue.size() >= kMaxSteps) {
            return false;
        }
        const NodeData& next = graph_.node(*reader);
        if (!next.domain.empty() || next.outputs.size() != 1 || !next.epilogue.empty() ||
            !context_.history.may_join(graph_.node(id), next) ||
            context_.type(result).dtype != DType::kFloat32 ||
            context_.type(next.outputs[0]).dtype != DType::kFloat32) {
            return false;
        }
        EpilogueStep step;
        step.op = next.def;
        step.attributes = next.attributes;
        ValueId operand;
        const bool fits = is_binary_step(next.op_type) ? set_binary(step, operand, next, result)
                                                       : set_unary(step, next, result);
        if (!fits) {
            return false;
        }
        attach(id, *reader, std::move(step), operand);
        return true;
    }

    bool set_unary(EpilogueStep& step, const NodeData& next, ValueId result) const {
        if (next.inputs[0] != result) {
            return false;
        }
        if (next.op_type == "Clip") {
            return set_bound(step, next, 1, "min") && set_bound(step, next, 2, "max");
        }
        return next.def->fusible_epilogue && next.inputs.size() == 1;
    }

    // Clip's bound, an input, as an attribute of the step.
    bool set_bound(EpilogueStep& step, const NodeData& next, size_t i, const char* key) const {
        if (i >= next.inputs.size() || !next.inputs[i].valid()) {
            return true;
        }
        const std::optional<float> bound = scalar_of(graph_, next.inputs[i]);
        if (bound) {
            step.attributes[key] = *bound;
        }
        return bound.has_value();
    }

    // The operand cannot depend on the result: the result's only reader is this node.
    bool set_binary(EpilogueStep& step,
                    ValueId& operand,
                    const NodeData& next,
                    ValueId result) const {
        if (next.inputs.size() != 2 || !next.inputs[0].valid() || !next.inputs[1].valid()) {
            return false;
        }
        const bool result_is_rhs = next.inputs[1] == result;
        operand = next.inputs[result_is_rhs ? 0 : 1];
        step.result_is_rhs = result_is_rhs && next.op_type != "Add" && next.op_type != "Mul";
        return context_.has_facts(operand) && context_.type(operand).dtype == DType::kFloat32 &&
               broadcasts_into(context_.type(operand), context_.type(result));
    }

    // The node writes what its reader wrote. The reader's value is one of this graph's before the
    // pass, so facts of it exist for the next step.
    void attach(NodeId id, NodeId reader, EpilogueStep step, ValueId operand) {
        const ValueId result = graph_.node(reader).outputs[0];
        rewriter_.history().join(graph_.node(id), graph_.node(reader));
        rewriter_.remove(reader);
        graph_.node(reader).outputs.clear();
        NodeData& node = graph_.node(id);
        if (node.own_input_count < 0) {
            node.own_input_count = int32_t(node.inputs.size());
        }
        if (operand.valid()) {
            step.operand_input = int32_t(node.inputs.size());
            std::vector<ValueId> inputs = node.inputs;
            inputs.push_back(operand);
            rewriter_.set_inputs(id, std::move(inputs));
        }
        graph_.value(node.outputs[0]).producer = {};
        node.outputs[0] = result;
        graph_.value(result).producer = id;
        graph_.value(result).output_index = 0;
        node.epilogue.push_back(std::move(step));
    }

    GraphData& graph_;
    const PassContext& context_;
    Rewriter rewriter_;
    int fused_ = 0;
};

}  // namespace

Result<bool> fuse_epilogues(GraphData& graph, PassContext& context) {
    const int fused = EpilogueFuser(graph, context).run();
    if (fused > 0) {
        context.detail = fmt::format("{} nodes", fused);
    }
    return fused > 0;
}

}  // namespace leat
