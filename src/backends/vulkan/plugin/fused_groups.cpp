#include "backends/vulkan/plugin/fused_groups.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <optional>

#include "ops/elementwise/chain_parameters_vulkan.h"
#include "ops/elementwise/epilogue_vulkan.h"
#include "ops/elementwise/node_vulkan.h"
#include "ops/transpose/transpose.h"

namespace leat::vulkan {
namespace {

using lowered::LoweredGraph;
using lowered::LoweredStep;
using lowered::Place;

// More would be compiled for longer than they save.
constexpr size_t kMaxSteps = 64;

bool is_chain_step(const NodeData& node, const LoweredStep& step) {
    if (!is_elementwise(node) || step.outputs.size() != 1 || step.inputs.empty() ||
        !step.inputs[0].present()) {
        return false;
    }
    const std::vector<DType> inputs = types_of(step.inputs);
    const std::vector<DType> outputs = types_of(step.outputs);
    // Where moves elements that have no arithmetic; chains compute.
    const auto is_arithmetic = [](DType dtype) {
        return dtype == DType::kUndefined || chain_refusal(dtype).empty();
    };
    const int64_t count = step.outputs[0].shape.element_count();
    return elementwise_refusal(node, {inputs, outputs}).empty() && count > 0 &&
           count < kChainCountLimit && std::all_of(inputs.begin(), inputs.end(), is_arithmetic) &&
           is_arithmetic(outputs[0]);
}

bool is_anchor(const NodeData& node, const LoweredStep& step) {
    const std::vector<DType> inputs = types_of(step.inputs);
    const std::vector<DType> outputs = types_of(step.outputs);
    return step.outputs.size() == 1 && takes_epilogue(node, {inputs, outputs}) &&
           step.outputs[0].shape.element_count() < kChainCountLimit;
}

std::vector<GroupOperand> operands_of(const std::vector<ValueId>& values,
                                      const std::vector<TensorArg>& args) {
    std::vector<GroupOperand> operands;
    operands.reserve(values.size());
    for (size_t i = 0; i < values.size(); ++i) {
        operands.push_back({values[i], args[i]});
    }
    return operands;
}

FusedGroup alone(const GraphData& graph, const LoweredGraph& lowered, int32_t index) {
    const LoweredStep& step = lowered.steps[size_t(index)];
    const NodeData& node = graph.node(step.node);
    FusedGroup group;
    group.steps = {index};
    group.reads = operands_of(node.inputs, step.inputs);
    group.results = operands_of(node.outputs, step.outputs);
    return group;
}

// Makes the chain of a group step by step.
class GroupBuilder {
  public:
    GroupBuilder(const GraphData& graph, const LoweredGraph& lowered)
        : graph_(graph), lowered_(lowered) {}

    // The first step where it is a product or convolution.
    void add_anchor(const FusedGroup& anchor) {
        group_ = anchor;
        group_.is_epilogue = true;
        const GroupOperand& y = anchor.results[0];
        group_.chain.inputs.push_back({y.arg.dtype, y.arg.shape, {}});
        group_.chain.shape = y.arg.shape;
        own_.emplace(y.value.index, chain_input(0));
    }

    void add(int32_t index) {
        const LoweredStep& step = lowered_.steps[size_t(index)];
        const NodeData& node = graph_.node(step.node);
        std::vector<ChainOperand> operands;
        operands.reserve(step.inputs.size());
        for (size_t i = 0; i < step.inputs.size(); ++i) {
            if (step.inputs[i].present()) {
                operands.push_back(operand_of(node.inputs[i], step.inputs[i]));
            }
        }
        const std::vector<DType> inputs = types_of(step.inputs);
        const std::vector<DType> outputs = types_of(step.outputs);
        append_steps(node, {inputs, outputs}, operands, group_.chain.steps);
        group_.chain.shape = step.outputs[0].shape;
        group_.chain.output = output_ref(0);
        group_.steps.push_back(index);
        group_.results = operands_of(node.outputs, step.outputs);
        own_.insert_or_assign(node.outputs[0].index, chain_result(group_.chain.steps.size() - 1));
    }

    bool fits(bool has_anchor) const {
        const size_t most = has_anchor ? 1 + kMaxEpilogueInputs : kMaxChainInputs;
        return group_.chain.inputs.size() <= most &&
               constant_words(group_.chain) <= kMaxChainConstantWords;
    }

    const FusedGroup& group() const { return group_; }

  private:
    ChainOperand operand_of(ValueId value, const TensorArg& arg) {
        const auto [at, is_new] = own_.try_emplace(value.index);
        if (!is_new) {
            return at->second;
        }
        if (arg.data != nullptr && arg.shape.element_count() == 1) {
            at->second = {ChainOperand::Kind::kConstant, arg.dtype};
            std::memcpy(&at->second.bits, arg.data, size_t(bits_of(arg.dtype)) / 8);
            return at->second;
        }
        at->second = chain_input(group_.chain.inputs.size());
        group_.chain.inputs.push_back(
            {arg.dtype, arg.shape, input_ref(int32_t(group_.reads.size()))});
        group_.reads.push_back({value, arg});
        return at->second;
    }

    const GraphData& graph_;
    const LoweredGraph& lowered_;
    FusedGroup group_;
    std::map<int32_t, ChainOperand> own_;  // by value: what it is in the chain
};

class GroupFinder {
  public:
    GroupFinder(const GraphData& graph, const LoweredGraph& lowered, const KernelLimits& limits)
        : graph_(graph),
          lowered_(lowered),
          views_(graph, lowered, limits),
          places_(place_operands(graph, lowered, views_)),
          uses_(lowered.transients.size()),
          is_copied_(lowered.transients.size()),
          is_taken_(lowered.steps.size()) {
        for (size_t s = 0; s < lowered.steps.size(); ++s) {
            for (const ValueId value : node_of(int32_t(s)).inputs) {
                if (const std::optional<size_t> transient = transient_of(value)) {
                    uses_[*transient].push_back(int32_t(s));
                }
            }
        }
        for (const lowered::LoweredOutput& output : lowered.outputs) {
            const std::optional<size_t> transient = transient_of(ValueId{output.value});
            if (output.is_copied && transient) {
                is_copied_[*transient] = true;
            }
        }
    }

    FusedSteps find() {
        std::vector<FusedGroup> groups;
        for (size_t s = 0; s < lowered_.steps.size(); ++s) {
            if (is_taken_[s] || places_.is_done[s]) {
                continue;
            }
            FusedGroup group =
                views_.is_movement(int32_t(s)) ? copies_of(int32_t(s)) : group_from(int32_t(s));
            for (const int32_t step : group.steps) {
                is_taken_[size_t(step)] = true;
            }
            if (!group.steps.empty()) {
                groups.push_back(std::move(group));
            }
        }
        // What a step reads from outside its group was there before the step, so before the last.
        std::sort(groups.begin(), groups.end(), [](const FusedGroup& a, const FusedGroup& b) {
            return a.steps.back() < b.steps.back();
        });
        return {std::move(groups), std::move(places_.parts)};
    }

  private:
    const LoweredStep& step(int32_t index) const { return lowered_.steps[size_t(index)]; }
    const NodeData& node_of(int32_t index) const { return graph_.node(step(index).node); }

    std::optional<size_t> transient_of(ValueId value) const {
        const bool has_memory =
            value.valid() && lowered_.places[size_t(value.index)].place == Place::kTransient;
        return has_memory ? std::optional(size_t(lowered_.places[size_t(value.index)].index))
                          : std::nullopt;
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
        add_transpose(group);
        return group;
    }

    // A product stores its result transposed where nobody needs it otherwise; rows stay dense.
    void add_transpose(FusedGroup& group) const {
        const LoweredStep& product = step(group.steps[0]);
        const std::optional<size_t> result = transient_of(group.results[0].value);
        if (node_of(group.steps[0]).op_type != "MatMul" || !result || is_copied_[*result] ||
            uses_[*result].size() != 1) {
            return;
        }
        const int32_t reader = uses_[*result][0];
        const NodeData& node = node_of(reader);
        if (!views_.is_movement(reader) || node.op_type != "Transpose" ||
            node.inputs[0] != group.results[0].value || !views_.is_stored(node.outputs[0]) ||
            views_.view_readers(node.inputs[0]) != 1) {
            return;
        }
        const TensorArg& y = step(reader).outputs[0];
        const int rank = y.shape.rank();
        const auto permutation = transpose_permutation(node, rank);
        const auto is_matrix = [](const TensorArg& arg) { return arg.shape.rank() >= 2; };
        if (!permutation.ok() || rank < 3 || (*permutation)[size_t(rank - 1)] != rank - 1 ||
            !std::all_of(product.inputs.begin(), product.inputs.end(), is_matrix)) {
            return;
        }
        group.strided_result = product.outputs[0];
        for (size_t axis = 0; axis < size_t(rank); ++axis) {
            group.strided_result->strides[size_t((*permutation)[axis])] = y.strides[axis];
        }
        group.steps.push_back(reader);
        group.results = operands_of(node.outputs, step(reader).outputs);
    }

    // The longest group that begins with the step.
    FusedGroup longest_from(int32_t first) const {
        const bool has_anchor = is_anchor(node_of(first), step(first));
        FusedGroup best = alone_on_views(first);
        if (!has_anchor && !is_chain_step(node_of(first), step(first))) {
            return best;
        }
        GroupBuilder builder(graph_, lowered_);
        if (has_anchor) {
            builder.add_anchor(best);
        } else {
            builder.add(first);
        }
        while (builder.group().steps.size() < kMaxSteps) {
            const std::vector<int32_t>& steps = builder.group().steps;
            const int32_t next = next_reader(steps);
            if (next < 0 || !can_join(steps, next)) {
                break;
            }
            builder.add(next);
            if (!builder.fits(has_anchor)) {
                break;
            }
            if (is_closed(builder.group(), has_anchor)) {
                best = builder.group();
            }
        }
        return best;
    }

    // The first step after these that reads a value of theirs; -1: none.
    int32_t next_reader(const std::vector<int32_t>& steps) const {
        int32_t next = -1;
        for (const int32_t member : steps) {
            const std::optional<size_t> transient = transient_of(node_of(member).outputs[0]);
            for (const int32_t user : transient ? uses_[*transient] : std::vector<int32_t>()) {
                if (user > steps.back() && (next < 0 || user < next)) {
                    next = user;
                }
            }
        }
        return next;
    }

    // Elements of all results have the same numbers, and none is read under another shape.
    bool can_join(const std::vector<int32_t>& steps, int32_t candidate) const {
        if (is_taken_[size_t(candidate)] || !is_chain_step(node_of(candidate), step(candidate)) ||
            step(candidate).outputs[0].shape != step(steps[0]).outputs[0].shape) {
            return false;
        }
        for (const ValueId input : node_of(candidate).inputs) {
            for (const int32_t member : steps) {
                const ValueId result = node_of(member).outputs[0];
                const std::optional<size_t> transient = transient_of(result);
                if (input != result && transient && transient_of(input) == transient) {
                    return false;
                }
            }
        }
        return true;
    }

    // Only the last result is read outside, and an epilogue gives elements of the kernel's type.
    bool is_closed(const FusedGroup& group, bool has_anchor) const {
        const std::vector<int32_t>& steps = group.steps;
        if (has_anchor && step(steps.back()).outputs[0].dtype != step(steps[0]).outputs[0].dtype) {
            return false;
        }
        return std::all_of(steps.begin(), steps.end() - 1, [&](int32_t member) {
            const std::optional<size_t> transient = transient_of(node_of(member).outputs[0]);
            return transient && !is_copied_[*transient] &&
                   std::all_of(uses_[*transient].begin(), uses_[*transient].end(),
                               [&](int32_t user) {
                                   return std::binary_search(steps.begin(), steps.end(), user);
                               });
        });
    }

    const GraphData& graph_;
    const LoweredGraph& lowered_;
    MovedViews views_;
    ConcatPlaces places_;
    std::vector<std::vector<int32_t>> uses_;  // by transient: the steps that read it
    std::vector<bool> is_copied_;             // by transient: into an output, after all steps
    std::vector<bool> is_taken_;              // by step
};

}  // namespace

std::vector<DType> types_of(std::span<const TensorArg> args) {
    std::vector<DType> types;
    types.reserve(args.size());
    for (const TensorArg& arg : args) {
        types.push_back(arg.dtype);
    }
    return types;
}

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
