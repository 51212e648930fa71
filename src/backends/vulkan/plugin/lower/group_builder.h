// A group of steps, made step by step: the chains before and after the step whose kernel it is.
#pragma once

#include <map>
#include <span>

#include "backends/vulkan/plugin/lower/fused_groups.h"
#include "backends/vulkan/plugin/lower/step_uses.h"

namespace leat::vulkan {

// A step that is part of chains: an element-wise operator with arithmetic.
bool is_chain_step(const NodeData& node, const lowered::LoweredStep& step);
// A step whose kernel has chains behind it, or before it.
bool has_epilogues(const NodeData& node, const lowered::LoweredStep& step);
bool has_prologues(const NodeData& node, const lowered::LoweredStep& step);

std::vector<GroupOperand> operands_of(const std::vector<ValueId>& values,
                                      std::span<const TensorArg> args);

// A group of one step. `index`: of the step.
FusedGroup step_alone(const NodeData& node, const lowered::LoweredStep& step, int32_t index);

class GroupBuilder {
  public:
    explicit GroupBuilder(const StepUses& uses) : uses_(uses) {}

    // A step of the chain so far: of the prologue until there is an anchor, then of the epilogue.
    void add(int32_t index);
    // The step by itself. What the chain gives so far becomes its input 0.
    void add_anchor(const FusedGroup& alone);
    bool has_anchor() const { return group_.anchor >= 0; }
    bool has_prologue() const { return !group_.prologue.steps.empty(); }

    // The group, if nobody outside needs values inside it, or only the prologue's, which is stored
    // then; nothing else.
    std::optional<FusedGroup> closed() const;
    // Within the limits of kernels.
    bool fits() const;

    // The first step after these that reads a value that may be read in the next one; -1: none.
    int32_t next_reader() const;
    // Whether a chain step goes on with the group: its elements have the numbers of the last ones,
    // and none is read under another shape.
    bool continues(int32_t candidate) const;
    // Whether a step takes the chain so far as its prologue.
    bool begins_with_chain(int32_t candidate) const;

    const std::vector<int32_t>& steps() const { return group_.steps; }

  private:
    ChainOperand operand_of(ValueId value, const TensorArg& arg);
    ValueId result_of(int32_t member) const { return uses_.node_of(member).outputs[0]; }
    // Whether it reads a result of the group otherwise than as the element of the same number.
    bool reads_otherwise(int32_t candidate) const;
    // Whether the group alone reads the result of a step.
    bool is_inside(int32_t member) const;
    // Whether the result has memory and everybody else who reads it comes after the group.
    bool can_be_stored(int32_t member) const;
    bool loops_are_short() const;

    const StepUses& uses_;
    FusedGroup group_;
    size_t anchor_place_ = 0;              // among the steps
    std::map<int32_t, ChainOperand> own_;  // by value: what it is in the chain that grows
};

}  // namespace leat::vulkan
