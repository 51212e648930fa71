// Nodes that give their input back, bit by bit, disappear; chains of views and of transposes become
// one.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "ops/control_flow/control_flow.h"
#include "passes/pass.h"
#include "passes/rewriter.h"

namespace leat {
namespace {

bool is_reshaping(const NodeData& node) {
    return node.domain.empty() && (node.op_type == "Reshape" || node.op_type == "Flatten" ||
                                   node.op_type == "Squeeze" || node.op_type == "Unsqueeze");
}

// The permutation of a Transpose of known rank; empty if unknown.
std::vector<int64_t> permutation(const NodeData& node, int rank) {
    if (const std::vector<int64_t>* perm = node.ints("perm"); perm != nullptr) {
        return *perm;
    }
    std::vector<int64_t> reversed(size_t(std::max(rank, 0)));
    std::iota(reversed.rbegin(), reversed.rend(), 0);
    return reversed;
}

class IdentityRemover {
  public:
    IdentityRemover(GraphData& graph, PassContext& context)
        : graph_(graph), context_(context), rewriter_(graph, context.history) {}

    Result<bool> run() {
        const int node_count = graph_.node_count();
        for (int n = 0; n < node_count; ++n) {
            const NodeId id{n};
            if (graph_.node(id).dead || !graph_.node(id).domain.empty() ||
                !graph_.node(id).epilogue.empty()) {
                continue;
            }
            become_cast_if_like(id);
            if (remove_if_identity(id)) {
                continue;
            }
            LEAT_RETURN_IF_ERROR(merge_views(id));
            LEAT_RETURN_IF_ERROR(merge_transposes(id));
        }
        return rewriter_.changed();
    }

    std::string detail() const { return fmt::format("{} removed, {} merged", removed_, merged_); }

  private:
    // A type that is known needs no operand, and Cast has more kernels.
    void become_cast_if_like(NodeId id) {
        const NodeData& node = graph_.node(id);
        if (node.op_type != "CastLike" || !has_facts(node) ||
            type(node.outputs[0]).dtype == DType::kUndefined) {
            return;
        }
        Attributes attributes = node.attributes;
        attributes.insert_or_assign("to", int64_t(type(node.outputs[0]).dtype));
        rewriter_.become(id, "Cast", {node.inputs[0]}, std::move(attributes));
    }

    bool remove_if_identity(NodeId id) {
        const NodeData& node = graph_.node(id);
        const int source = identity_of(node);
        if (source < 0) {
            return false;
        }
        const ValueId from = node.outputs[0];
        const ValueId to = node.inputs[size_t(source)];
        if (!rewriter_.bypass(from, to)) {
            if (!may_be_output_twice(to)) {
                return false;
            }
            rewriter_.replace_uses(from, to);
        }
        rewriter_.history().remove(node, NodeFate::kIdentity);
        rewriter_.remove(id);
        ++removed_;
        return true;
    }

    // Each output is written by a node. But only the run may know how large a result is: no node
    // could copy it.
    bool may_be_output_twice(ValueId id) const {
        const ValueData& value = graph_.value(id);
        if (!value.producer.valid()) {
            return false;
        }
        const NodeData& producer = graph_.node(value.producer);
        return is_stack_of_loop(producer, value.output_index) ||
               is_open_output(producer, value.output_index);
    }

    // The index of the input that the node gives back unchanged; -1: none.
    int identity_of(const NodeData& node) const {
        const std::string& op = node.op_type;
        if (node.inputs.empty() || !node.inputs[0].valid() || node.outputs.empty() ||
            !node.outputs[0].valid() || !others_unused(node)) {
            return -1;
        }
        if (op == "Identity" || op == "Dropout" || op == "Cast" || op == "Clip") {
            return keeps_elements(node) ? 0 : -1;
        }
        if (op == "Concat" || op == "Sum" || op == "Max" || op == "Min" || op == "Mean") {
            return node.inputs.size() == 1 ? 0 : -1;
        }
        if (op == "Mul" || op == "Div" || op == "Add" || op == "Sub") {
            return neutral_operand(node);
        }
        if (!has_facts(node) || !same_shape(type(node.inputs[0]), type(node.outputs[0]))) {
            return -1;
        }
        return is_reshaping(node) || op == "Expand" || op == "Split" || keeps_places(node) ? 0 : -1;
    }

    // Results but the first that somebody reads rule a node out.
    bool others_unused(const NodeData& node) const {
        return std::all_of(node.outputs.begin() + 1, node.outputs.end(), [&](ValueId output) {
            return !output.valid() || rewriter_.is_unused(output);
        });
    }

    bool keeps_elements(const NodeData& node) const {
        auto absent = [&](size_t i) { return i >= node.inputs.size() || !node.inputs[i].valid(); };
        if (node.op_type == "Dropout") {
            const Tensor* training = absent(2) ? nullptr : constant_of(graph_, node.inputs[2]);
            return absent(2) || (training != nullptr && training->element_count() == 1 &&
                                 training->bytes()[0] == std::byte{0});
        }
        if (node.op_type == "Cast") {
            return has_facts(node) && type(node.inputs[0]).is_tensor() &&
                   type(node.inputs[0]).dtype == type(node.outputs[0]).dtype;
        }
        return node.op_type == "Identity" || (absent(1) && absent(2));
    }

    // Operators that move elements, of a result with the input's shape.
    bool keeps_places(const NodeData& node) const {
        auto all_equal = [&](size_t i, int64_t needed) {
            const auto elements =
                i < node.inputs.size() ? ints_of(graph_, node.inputs[i]) : std::nullopt;
            return elements && std::all_of(elements->begin(), elements->end(),
                                           [&](int64_t element) { return element == needed; });
        };
        if (node.op_type == "Tile") {
            return all_equal(1, 1);
        }
        if (node.op_type == "Pad") {
            return all_equal(1, 0);
        }
        if (node.op_type == "Slice") {
            return node.inputs.size() < 5 || !node.inputs[4].valid() || all_equal(4, 1);
        }
        if (node.op_type != "Transpose") {
            return false;
        }
        const std::vector<int64_t> perm = permutation(node, type(node.inputs[0]).rank());
        return std::is_sorted(perm.begin(), perm.end());
    }

    // x * 1, x / 1 and x - 0 keep every bit; of floats, x + 0 does not: -0 becomes +0.
    int neutral_operand(const NodeData& node) const {
        const bool multiplies = node.op_type == "Mul" || node.op_type == "Div";
        const bool commutes = node.op_type == "Mul" || node.op_type == "Add";
        if (node.inputs.size() != 2 || !has_facts(node) || !context_.has_facts(node.inputs[1])) {
            return -1;
        }
        for (int i = 0; i < (commutes ? 2 : 1); ++i) {
            const ValueId x = node.inputs[size_t(i)];
            const ValueId constant = node.inputs[size_t(1 - i)];
            if (!same_shape(type(x), type(node.outputs[0]))) {
                continue;
            }
            const std::optional<float> number = scalar_of(graph_, constant);
            const auto integers = ints_of(graph_, constant);
            const bool float_fits = number && *number == (multiplies ? 1.0F : 0.0F) &&
                                    !std::signbit(*number) && node.op_type != "Add";
            const bool integer_fits =
                integers && integers->size() == 1 && integers->front() == (multiplies ? 1 : 0);
            if (float_fits || integer_fits) {
                return i;
            }
        }
        return -1;
    }

    // Reshape(Unsqueeze(x)) and the like: one Reshape of x.
    Status merge_views(NodeId id) {
        const NodeData& node = graph_.node(id);
        const NodeId inner = is_reshaping(node) ? graph_.value(node.inputs[0]).producer : NodeId{};
        if (!inner.valid() || !is_reshaping(graph_.node(inner)) ||
            !rewriter_.only_reader(node.inputs[0])) {
            return {};
        }
        const ValueId x = graph_.node(inner).inputs[0];
        if (!context_.has_facts(x) || !has_facts(node) ||
            !context_.history.may_join(node, graph_.node(inner))) {
            return {};
        }
        const auto target = reshape_target(type(x), type(node.outputs[0]));
        if (!target) {
            return {};
        }
        LEAT_ASSIGN_OR_RETURN(const ValueId shape,
                              rewriter_.add_ints(node.name + ".shape", *target));
        rewriter_.history().join(node, graph_.node(inner));
        rewriter_.become(id, "Reshape", {x, shape}, {});
        rewriter_.remove(inner);
        ++merged_;
        return {};
    }

    // Transpose(Transpose(x)): one Transpose of x. A Transpose that only moves axes of extent 1: a
    // Reshape.
    Status merge_transposes(NodeId id) {
        if (graph_.node(id).op_type != "Transpose" ||
            !context_.has_facts(graph_.node(id).inputs[0])) {
            return {};
        }
        const NodeData& node = graph_.node(id);
        const int rank = type(node.inputs[0]).rank();
        std::vector<int64_t> perm = permutation(node, rank);
        if (rank < 0 || int(perm.size()) != rank) {
            return {};
        }
        const NodeData* inner = producer_of(graph_, node.inputs[0], "Transpose");
        if (inner != nullptr) {
            const std::vector<int64_t> first = permutation(*inner, rank);
            for (int64_t& axis : perm) {
                axis = first[size_t(axis)];
            }
            const ValueId x = inner->inputs[0];
            const bool is_merged =
                rewriter_.replace_pattern(id, "Transpose", {x}, {{"perm", perm}});
            merged_ += is_merged ? 1 : 0;
            return {};
        }
        return moves_only_ones(type(node.inputs[0]), perm) ? become_reshape(id) : Status();
    }

    static bool moves_only_ones(const TypeInfo& x, const std::vector<int64_t>& perm) {
        int64_t last = -1;
        for (int64_t axis : perm) {
            if ((*x.dims)[size_t(axis)].extent() == 1) {
                continue;
            }
            if (axis < last) {
                return false;
            }
            last = axis;
        }
        return true;
    }

    Status become_reshape(NodeId id) {
        const NodeData& node = graph_.node(id);
        const auto target = reshape_target(type(node.inputs[0]), type(node.outputs[0]));
        if (!target) {
            return {};
        }
        LEAT_ASSIGN_OR_RETURN(const ValueId shape,
                              rewriter_.add_ints(node.name + ".shape", *target));
        rewriter_.become(id, "Reshape", {graph_.node(id).inputs[0], shape}, {});
        ++merged_;
        return {};
    }

    bool has_facts(const NodeData& node) const {
        return context_.has_facts(node.inputs[0]) && context_.has_facts(node.outputs[0]);
    }
    const TypeInfo& type(ValueId id) const { return context_.type(id); }

    GraphData& graph_;
    const PassContext& context_;
    Rewriter rewriter_;
    int removed_ = 0;
    int merged_ = 0;
};

}  // namespace

Result<bool> remove_identities(GraphData& graph, PassContext& context) {
    IdentityRemover remover(graph, context);
    LEAT_ASSIGN_OR_RETURN(const bool changed, remover.run());
    if (changed) {
        context.detail = remover.detail();
    }
    return changed;
}

}  // namespace leat
