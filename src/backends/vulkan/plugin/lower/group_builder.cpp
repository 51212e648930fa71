#include "backends/vulkan/plugin/lower/group_builder.h"

#include <algorithm>
#include <cstring>

#include "ops/elementwise/attached_chains_vulkan.h"
#include "ops/elementwise/chain_parameters_vulkan.h"
#include "ops/elementwise/node_vulkan.h"

namespace leat::vulkan {
namespace {

using lowered::LoweredStep;

// Fewer rows than this are less work at a time than the elements of a chain, unless there are few
// of these, too.
constexpr int64_t kRowsWorthPrologue = 64;
constexpr int64_t kElementsOfAnyRows = int64_t{1} << 16;

// Rows that a kernel does one after the other: of the last axis, or results of a reduction.
int64_t rows_of(const LoweredStep& step) {
    const Shape& x = step.inputs[0].shape;
    const int64_t results = step.outputs[0].shape.element_count();
    const bool is_reduction = results != x.element_count();
    return is_reduction ? results : x.element_count(0, std::max(x.rank() - 1, 0));
}

// Elements of x that an invocation of a row kernel reads on a CPU device, which has 64 workgroups
// of 64 invocations, or of 8 at least where rows are few.
int64_t elements_of_invocation(const LoweredStep& step) {
    constexpr int64_t kWorkgroup = 64;
    constexpr int64_t kInvocations = 64 * kWorkgroup;
    constexpr int64_t kLanes = 8;
    const int64_t rows = rows_of(step);
    const int64_t columns = step.inputs[0].shape.element_count() / std::max<int64_t>(rows, 1);
    return rows < kWorkgroup && columns >= 2 * kWorkgroup
               ? columns / kLanes + 1
               : columns * ((rows + kInvocations - 1) / kInvocations);
}

}  // namespace

bool is_chain_step(const NodeData& node, const LoweredStep& step) {
    if (node.def == nullptr || !is_elementwise(node) || step.outputs.size() != 1 ||
        step.inputs.empty() || !step.inputs[0].present()) {
        return false;
    }
    const std::vector<DType> inputs = types_of(step.inputs);
    const std::vector<DType> outputs = types_of(step.outputs);
    const int64_t count = step.outputs[0].shape.element_count();
    return step_refusal(node, {inputs, outputs}).empty() && count > 0 && count < kChainCountLimit;
}

bool has_epilogues(const NodeData& node, const LoweredStep& step) {
    const std::vector<DType> inputs = types_of(step.inputs);
    const std::vector<DType> outputs = types_of(step.outputs);
    return node.def != nullptr && step.outputs.size() == 1 &&
           takes_epilogue(node, {inputs, outputs}) &&
           step.outputs[0].shape.element_count() < kChainCountLimit;
}

bool has_prologues(const NodeData& node, const LoweredStep& step) {
    const std::vector<DType> inputs = types_of(step.inputs);
    const std::vector<DType> outputs = types_of(step.outputs);
    return node.def != nullptr && step.outputs.size() == 1 &&
           takes_prologue(node, {inputs, outputs}) && step.outputs[0].shape.element_count() > 0 &&
           (rows_of(step) >= kRowsWorthPrologue ||
            step.inputs[0].shape.element_count() <= kElementsOfAnyRows);
}

std::vector<GroupOperand> operands_of(const std::vector<ValueId>& values,
                                      std::span<const TensorArg> args) {
    std::vector<GroupOperand> operands;
    operands.reserve(values.size());
    for (size_t i = 0; i < values.size(); ++i) {
        operands.push_back({values[i], args[i]});
    }
    return operands;
}

FusedGroup step_alone(const NodeData& node, const LoweredStep& step, int32_t index) {
    FusedGroup group;
    group.steps = {index};
    group.anchor = index;
    group.anchor_inputs.assign(step.inputs.begin(), step.inputs.end());
    group.reads = operands_of(node.inputs, step.inputs);
    group.results = operands_of(node.outputs, step.outputs);
    return group;
}

void GroupBuilder::add(int32_t index) {
    const LoweredStep& step = uses_.step(index);
    const NodeData& node = uses_.node_of(index);
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

void GroupBuilder::add_anchor(const FusedGroup& alone) {
    anchor_place_ = group_.steps.size();
    group_.anchor = alone.anchor;
    group_.anchor_inputs = alone.anchor_inputs;
    group_.steps.push_back(alone.anchor);
    group_.results = alone.results;
    group_.prologue = std::move(group_.chain);
    group_.chain = {};
    std::vector<GroupOperand> reads = alone.reads;
    if (has_prologue()) {
        // Its input 0 has the place of the anchor's, the others follow the anchor's.
        reads[0] = group_.reads[0];
        reads.insert(reads.end(), group_.reads.begin() + 1, group_.reads.end());
        for (ChainInput& input : group_.prologue.inputs) {
            if (input.operand.index > 0) {
                input.operand.index += int32_t(alone.reads.size()) - 1;
            }
        }
    }
    group_.reads = std::move(reads);
    const GroupOperand& y = alone.results[0];
    group_.chain.inputs.push_back({y.arg.dtype, y.arg.shape, {}});
    group_.chain.shape = y.arg.shape;
    own_.clear();
    own_.emplace(y.value.index, chain_input(0));
}

ChainOperand GroupBuilder::operand_of(ValueId value, const TensorArg& arg) {
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
    group_.chain.inputs.push_back({arg.dtype, arg.shape, input_ref(int32_t(group_.reads.size()))});
    group_.reads.push_back({value, arg});
    return at->second;
}

bool GroupBuilder::fits() const {
    if (!has_anchor()) {
        return group_.chain.inputs.size() <= kMaxChainInputs &&
               constant_words(group_.chain) <= kMaxChainConstantWords;
    }
    const std::optional<FusedGroup> group = closed();
    const bool stores = group && group->stores_prologue();
    const size_t operands = group_.chain.inputs.size() - 1 +
                            (has_prologue() ? group_.prologue.inputs.size() - 1 : 0) +
                            (stores ? 1 : 0);
    return operands <= max_attached_operands(uses_.node_of(group_.anchor)) && loops_are_short() &&
           constant_words(group_.prologue) + constant_words(group_.chain) <= kMaxChainConstantWords;
}

// Mesa's device ends all loops of an invocation after 65,535 iterations. Row kernels run over an
// element three times at most.
bool GroupBuilder::loops_are_short() const {
    const LoweredStep& anchor = uses_.step(group_.anchor);
    const int64_t attached = chain_iterations(group_.prologue) + chain_iterations(group_.chain);
    constexpr int64_t kPasses = 3;
    return attached == 0 || !has_prologues(uses_.node_of(group_.anchor), anchor) ||
           kPasses * loop_iterations(elements_of_invocation(anchor), attached) <= kMostIterations;
}

int32_t GroupBuilder::next_reader() const {
    int32_t next = -1;
    const size_t first = has_prologue() ? anchor_place_ : 0;
    for (size_t i = first; i < group_.steps.size(); ++i) {
        for (const int32_t reader : uses_.readers(result_of(group_.steps[i]))) {
            if (reader > group_.steps.back() && (next < 0 || reader < next)) {
                next = reader;
            }
        }
    }
    return next;
}

bool GroupBuilder::reads_otherwise(int32_t candidate) const {
    for (const ValueId input : uses_.node_of(candidate).inputs) {
        for (size_t i = 0; i < group_.steps.size(); ++i) {
            const ValueId result = result_of(group_.steps[i]);
            const std::optional<size_t> transient = uses_.transient_of(result);
            // Of the prologue only its last result goes on, to the anchor.
            const bool is_other = input != result || (has_prologue() && i < anchor_place_);
            if (is_other && transient && uses_.transient_of(input) == transient) {
                return true;
            }
        }
    }
    return false;
}

bool GroupBuilder::continues(int32_t candidate) const {
    return is_chain_step(uses_.node_of(candidate), uses_.step(candidate)) &&
           uses_.step(candidate).outputs[0].shape == group_.chain.shape &&
           !reads_otherwise(candidate);
}

bool GroupBuilder::begins_with_chain(int32_t candidate) const {
    const NodeData& node = uses_.node_of(candidate);
    const ValueId last = result_of(group_.steps.back());
    if (has_anchor() || group_.chain.inputs.empty() || node.inputs[0] != last ||
        !has_prologues(node, uses_.step(candidate)) || reads_otherwise(candidate)) {
        return false;
    }
    const auto reads_inside = [&](int32_t member) {
        return std::find(node.inputs.begin() + 1, node.inputs.end(), result_of(member)) !=
               node.inputs.end();
    };
    return std::none_of(group_.steps.begin(), group_.steps.end(), reads_inside);
}

bool GroupBuilder::is_inside(int32_t member) const {
    const ValueId result = result_of(member);
    const std::vector<int32_t>& readers = uses_.readers(result);
    return uses_.transient_of(result) && !uses_.is_copied(result) &&
           std::all_of(readers.begin(), readers.end(), [&](int32_t reader) {
               return std::binary_search(group_.steps.begin(), group_.steps.end(), reader);
           });
}

bool GroupBuilder::can_be_stored(int32_t member) const {
    const ValueId result = result_of(member);
    const std::vector<int32_t>& readers = uses_.readers(result);
    return uses_.transient_of(result) &&
           std::all_of(readers.begin(), readers.end(), [&](int32_t reader) {
               return reader == group_.anchor || reader > group_.steps.back();
           });
}

std::optional<FusedGroup> GroupBuilder::closed() const {
    FusedGroup group = group_;
    const std::vector<int32_t>& steps = group_.steps;
    if (has_anchor() &&
        uses_.step(steps.back()).outputs[0].dtype != uses_.step(group_.anchor).outputs[0].dtype) {
        return std::nullopt;
    }
    if (group.chain.steps.empty()) {
        group.chain = {};
    }
    for (size_t i = 0; i + 1 < steps.size(); ++i) {
        if (is_inside(steps[i])) {
            continue;
        }
        if (!has_prologue() || i + 1 != anchor_place_ || !can_be_stored(steps[i])) {
            return std::nullopt;
        }
        group.results.push_back({result_of(steps[i]), uses_.step(steps[i]).outputs[0]});
    }
    return group;
}

}  // namespace leat::vulkan
