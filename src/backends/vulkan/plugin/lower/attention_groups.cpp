#include "backends/vulkan/plugin/lower/attention_groups.h"

#include <algorithm>
#include <optional>

#include "ops/elementwise/attached_chains_vulkan.h"

namespace leat::vulkan {
namespace {

using lowered::LoweredStep;

GroupOperand in_place(ValueId value, const TensorArg& arg, const MovedViews& views) {
    GroupOperand operand{value, arg};
    if (const StridedView* view = views.view_of(value)) {
        operand.value = view->root;
        operand.first_element = view->first_element;
        operand.arg.strides = view->strides;
    }
    return operand;
}

bool is_product(const StepUses& uses, int32_t index) {
    const LoweredStep& step = uses.step(index);
    const auto is_matrix = [](const TensorArg& arg) { return arg.shape.rank() >= 2; };
    return is_own(uses.node_of(index), "MatMul") &&
           std::all_of(step.inputs.begin(), step.inputs.end(), is_matrix);
}

// The step that alone reads the result, as its input 0; -1: none.
int32_t only_reader(const StepUses& uses, ValueId result) {
    const std::vector<int32_t>& readers = uses.readers(result);
    const bool is_one = readers.size() == 1 && !uses.is_copied(result) &&
                        uses.node_of(readers[0]).inputs[0] == result;
    return is_one ? readers[0] : -1;
}

bool is_softmax_of_rows(const StepUses& uses, int32_t index) {
    const NodeData& node = uses.node_of(index);
    const int rank = uses.step(index).inputs[0].shape.rank();
    const int64_t axis = node.attr("axis", int64_t{-1});
    return is_own(node, "Softmax") && node.epilogue.empty() && (axis == -1 || axis == rank - 1);
}

// The product with as much of the chain behind it as ends in a Softmax.
std::optional<AttentionGroup> scores_from(const StepUses& uses, int32_t first) {
    constexpr size_t kMaxSteps = 16;
    GroupBuilder builder(uses);
    builder.add_anchor(step_alone(uses.node_of(first), uses.step(first), first));
    while (builder.steps().size() < kMaxSteps && builder.fits()) {
        const int32_t next = builder.next_reader();
        if (next < 0) {
            return std::nullopt;
        }
        if (builder.continues(next)) {
            builder.add(next);
            continue;
        }
        std::optional<FusedGroup> group = builder.closed();
        if (!group || only_reader(uses, group->results[0].value) != next ||
            !is_softmax_of_rows(uses, next)) {
            return std::nullopt;
        }
        return AttentionGroup{*std::move(group), next, -1};
    }
    return std::nullopt;
}

bool add_context(AttentionGroup& group, const StepUses& uses) {
    const LoweredStep& softmax = uses.step(group.softmax);
    const int32_t context = only_reader(uses, uses.node_of(group.softmax).outputs[0]);
    if (context < 0 || !is_product(uses, context)) {
        return false;
    }
    // One result for each row of scores: V may broadcast, scores do not.
    const Shape& scores = softmax.outputs[0].shape;
    const Shape& y = uses.step(context).outputs[0].shape;
    group.context = context;
    return scores.rank() == y.rank() && std::equal(scores.begin(), scores.end() - 1, y.begin()) &&
           uses.node_of(context).inputs[1] != uses.node_of(context).inputs[0];
}

}  // namespace

AttentionReads attention_reads(const AttentionGroup& group,
                               const StepUses& uses,
                               const MovedViews& views) {
    const int32_t scores = group.scores.anchor;
    const auto read = [&](int32_t step, size_t input) {
        return in_place(uses.node_of(step).inputs[input], uses.step(step).inputs[input], views);
    };
    return {read(scores, 0), read(scores, 1), read(group.context, 1)};
}

std::vector<AttentionGroup> find_attention(const StepUses& uses,
                                           const MovedViews& views,
                                           const KernelLimits& limits) {
    std::vector<AttentionGroup> groups;
    for (size_t s = 0; s < uses.lowered().steps.size(); ++s) {
        const auto first = int32_t(s);
        if (!is_product(uses, first) || !has_epilogues(uses.node_of(first), uses.step(first))) {
            continue;
        }
        std::optional<AttentionGroup> group = scores_from(uses, first);
        if (!group || !add_context(*group, uses)) {
            continue;
        }
        const AttentionReads reads = attention_reads(*group, uses, views);
        const AttentionArgs args{reads.q.arg, reads.k_transposed.arg, reads.v.arg,
                                 uses.step(group->context).outputs[0]};
        if (attention_refusal(args, limits).empty()) {
            groups.push_back(*std::move(group));
        }
    }
    return groups;
}

}  // namespace leat::vulkan
