// Groups of a lowered graph's steps that run as one: chains of element-wise operators, and other
// steps with the operators that follow or come before.
//
//     x --Conv--> a --Add(r)--> b --Relu--> y        one group: Conv with the epilogue Add, Relu
//     x --Add(r)--> a --Softmax--> y                 one group: Softmax with the prologue Add
//     x --Mul--> a --Sigmoid--> b --Mul(a)--> y      one group: a chain
//     q --MatMul(k^T)--> a --Softmax--> b --MatMul(v)--> y    one group: attention
//     x --MatMul--> a --Transpose--> y               one group: the product stores y
//
// Values between the steps of a group are read by no other step and have no memory. What only moves
// elements is done by who reads them, where that can (moved_views.h).
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "backends/lowered/lowered_graph.h"
#include "backends/vulkan/plugin/lower/concat_places.h"
#include "backends/vulkan/plugin/lower/moved_views.h"
#include "ops/elementwise/chain_vulkan.h"

namespace leat::vulkan {

// An operand of a group. Strides are those of a view where the kernel takes it as one.
struct GroupOperand {
    ValueId value;
    TensorArg arg;  // not present() where the operand is absent
    int64_t first_element = 0;
};

struct FusedGroup {
    // Of the lowered graph, ascending; the group runs where the last one stands.
    std::vector<int32_t> steps;
    // The step whose kernel the group is; -1: the group is a chain. With an anchor the chains are
    // those of ops/elementwise/attached_chains_vulkan.h, empty where there is none.
    int32_t anchor = -1;
    std::vector<TensorArg> anchor_inputs;
    // With attention (attention_groups.h) the anchor is the product that gives scores, its chain
    // theirs; inputs are those of the anchor and V.
    bool is_attention = false;
    ElementwiseChain prologue;
    ElementwiseChain chain;
    // Inputs of the anchor, then those of the chains, whose operands are input_ref() of these. With
    // a prologue its input 0 is the first, in the place of the anchor's.
    std::vector<GroupOperand> reads;
    // Outputs of the last step; then the prologue's result, where others need it.
    std::vector<GroupOperand> results;
    // What a product or attention stores as its kernel has it, where that is not dense.
    std::optional<TensorArg> strided_result;
    // A step that only moves elements: by result that is stored, the view of reads[0] that it is.
    std::vector<StridedView> copies;

    bool stores_prologue() const { return !prologue.steps.empty() && results.size() > 1; }
};

struct FusedSteps {
    // Every step of the graph is in one group, or has nothing to do; in an order in which they may
    // run.
    std::vector<FusedGroup> groups;
    // By transient of the lowered graph: where it lies in another one.
    std::vector<std::optional<PartPlace>> parts;
};
FusedSteps fuse_steps(const GraphData& graph,
                      const lowered::LoweredGraph& lowered,
                      const KernelLimits& limits);

// The same with each step alone.
FusedSteps single_steps(const GraphData& graph, const lowered::LoweredGraph& lowered);

}  // namespace leat::vulkan
