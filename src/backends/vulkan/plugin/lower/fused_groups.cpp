#include "backends/vulkan/plugin/lower/fused_groups.h"

#include <algorithm>
#include <optional>

#include "backends/vulkan/plugin/lower/attention_groups.h"
#include "backends/vulkan/plugin/lower/group_builder.h"
#include "ops/transpose/transpose.h"

namespace leat::vulkan {
namespace {

using lowered::LoweredGraph;
using lowered::LoweredStep;

// More would be compiled for longer than they save.
constexpr size_t kMaxSteps = 64;

FusedGroup alone(const GraphData& graph, const LoweredGraph& lowered, int32_t index) {
    const LoweredStep& step = lowered.steps[size_t(index)];
    return step_alone(graph.node(step.node), step, index);
}

class GroupFinder {
  public:
    GroupFinder(const GraphData& graph, const LoweredGraph& lowered, const KernelLimits& limits)
        : graph_(graph),
          lowered_(lowered),
          uses_(graph, lowered),
          views_(graph, lowered, limits),
          attention_(find_attention(uses_, views_, limits)),
          is_taken_(lowered.steps.size()) {
        std::vector<uint32_t> reads_views(lowered.steps.size());
        for (const AttentionGroup& group : attention_) {
            reads_views[size_t(group.scores.anchor)] = 0b11;
            reads_views[size_t(group.context)] = 0b10;
        }
        views_.plan_reads(std::move(reads_views));
        places_ = place_operands(graph, lowered, views_);
    }

    FusedSteps find() {
        std::vector<FusedGroup> groups;
        for (const AttentionGroup& attention : attention_) {
            add(attention_group(attention), groups);
        }
        for (size_t s = 0; s < lowered_.steps.size(); ++s) {
            if (is_taken_[s] || places_.is_done[s]) {
                continue;
            }
            add(views_.is_movement(int32_t(s)) ? copies_of(int32_t(s)) : group_from(int32_t(s)),
                groups);
        }
        // What a step reads from outside its group was there before the step, so before the last.
        std::sort(groups.begin(), groups.end(), [](const FusedGroup& a, const FusedGroup& b) {
            return a.steps.back() < b.steps.back();
        });
        return {std::move(groups), std::move(places_.parts)};
    }

  private:
    const LoweredStep& step(int32_t index) const { return uses_.step(index); }
    const NodeData& node_of(int32_t index) const { return uses_.node_of(index); }

    void add(FusedGroup group, std::vector<FusedGroup>& groups) {
        for (const int32_t step : group.steps) {
            is_taken_[size_t(step)] = true;
        }
        if (!group.steps.empty()) {
            groups.push_back(std::move(group));
        }
    }

    // V follows the operands of the first product.
    FusedGroup attention_group(const AttentionGroup& attention) const {
        FusedGroup group = attention.scores;
        const AttentionReads reads = attention_reads(attention, uses_, views_);
        group.is_attention = true;
        group.reads[0] = reads.q;
        group.reads[1] = reads.k_transposed;
        group.reads.insert(group.reads.begin() + 2, reads.v);
        group.anchor_inputs = {reads.q.arg, reads.k_transposed.arg, reads.v.arg};
        for (size_t i = 1; i < group.chain.inputs.size(); ++i) {
            ++group.chain.inputs[i].operand.index;
        }
        group.steps.push_back(attention.softmax);
        group.steps.push_back(attention.context);
        group.results =
            operands_of(node_of(attention.context).outputs, step(attention.context).outputs);
        group.strided_result = step(attention.context).outputs[0];
        add_transpose(group, attention.context);
        return group;
    }

    // The step alone, reading views in place.
    FusedGroup alone_on_views(int32_t index) const {
        FusedGroup group = alone(graph_, lowered_, index);
        for (size_t i = 0; i < group.reads.size(); ++i) {
            if (const StridedView* view = views_.operand_view(index, i)) {
                GroupOperand& read = group.reads[i];
                read.value = view->root;
                read.first_element = view->first_element;
                read.arg.strides = view->strides;
                group.anchor_inputs[i].strides = view->strides;
            }
        }
        return group;
    }

    // What a step that only moves elements has to store; a group without steps where that is
    // nothing.
    FusedGroup copies_of(int32_t index) const {
        FusedGroup group;
        for (const GroupOperand& result : alone(graph_, lowered_, index).results) {
            if (views_.is_stored(result.value)) {
                group.copies.push_back(*views_.view_of(result.value));
                group.results.push_back(result);
            }
        }
        if (!group.copies.empty()) {
            const ValueId root = group.copies[0].root;
            const Shape shape = *lowered_.facts[size_t(root.index)].type.fixed_shape();
            group.steps = {index};
            group.reads = {{root, row_major_arg(group.results[0].arg.dtype, shape, nullptr)}};
        }
        return group;
    }

    FusedGroup group_from(int32_t first) const {
        FusedGroup group = longest_from(first);
        if (group.anchor >= 0) {
            add_transpose(group, group.anchor);
        }
        return group;
    }

    // A product stores its result transposed where nobody needs it otherwise; rows stay dense.
    void add_transpose(FusedGroup& group, int32_t product) const {
        const ValueId result = group.results[0].value;
        if (!is_own(node_of(product), "MatMul") || uses_.readers(result).size() != 1 ||
            uses_.is_copied(result)) {
            return;
        }
        const LoweredStep& own = step(product);
        const int32_t reader = uses_.readers(result)[0];
        const NodeData& node = node_of(reader);
        if (!views_.is_movement(reader) || !is_own(node, "Transpose") || node.inputs[0] != result ||
            !views_.is_stored(node.outputs[0]) || views_.view_readers(node.inputs[0]) != 1) {
            return;
        }
        const TensorArg& y = step(reader).outputs[0];
        const int rank = y.shape.rank();
        const auto permutation = transpose_permutation(node, rank);
        const auto is_matrix = [](const TensorArg& arg) { return arg.shape.rank() >= 2; };
        if (!permutation.ok() || rank < 3 || (*permutation)[size_t(rank - 1)] != rank - 1 ||
            !std::all_of(own.inputs.begin(), own.inputs.end(), is_matrix)) {
            return;
        }
        group.strided_result = own.outputs[0];
        for (size_t axis = 0; axis < size_t(rank); ++axis) {
            group.strided_result->strides[size_t((*permutation)[axis])] = y.strides[axis];
        }
        group.steps.push_back(reader);
        group.results = operands_of(node.outputs, step(reader).outputs);
    }

    // The longest group that begins with the step.
    FusedGroup longest_from(int32_t first) const {
        FusedGroup best = alone_on_views(first);
        GroupBuilder builder(uses_);
        if (has_epilogues(node_of(first), step(first))) {
            builder.add_anchor(best);
        } else if (is_chain_step(node_of(first), step(first))) {
            builder.add(first);
        } else {
            return best;
        }
        while (builder.steps().size() < kMaxSteps && add_next(builder) && builder.fits()) {
            if (std::optional<FusedGroup> group = builder.closed()) {
                best = *std::move(group);
            }
        }
        return best;
    }

    bool add_next(GroupBuilder& builder) const {
        const int32_t next = builder.next_reader();
        if (next < 0 || is_taken_[size_t(next)]) {
            return false;
        }
        if (builder.continues(next)) {
            builder.add(next);
            return true;
        }
        if (!builder.begins_with_chain(next)) {
            return false;
        }
        builder.add_anchor(alone_on_views(next));
        return true;
    }

    const GraphData& graph_;
    const LoweredGraph& lowered_;
    StepUses uses_;
    MovedViews views_;
    std::vector<AttentionGroup> attention_;
    ConcatPlaces places_;
    std::vector<bool> is_taken_;  // by step
};

}  // namespace

FusedSteps fuse_steps(const GraphData& graph,
                      const LoweredGraph& lowered,
                      const KernelLimits& limits) {
    return GroupFinder(graph, lowered, limits).find();
}

FusedSteps single_steps(const GraphData& graph, const LoweredGraph& lowered) {
    FusedSteps fused;
    fused.groups.reserve(lowered.steps.size());
    for (size_t s = 0; s < lowered.steps.size(); ++s) {
        fused.groups.push_back(alone(graph, lowered, int32_t(s)));
    }
    fused.parts.resize(lowered.transients.size());
    return fused;
}

}  // namespace leat::vulkan
