// Groups of a lowered graph's steps that run as one: chains of element-wise operators, and products
// or convolutions with the operators that follow.
//
//     x --Conv--> a --Add(r)--> b --Relu--> y        one group: Conv with the epilogue Add, Relu
//     x --Mul--> a --Sigmoid--> b --Mul(a)--> y      one group: a chain
//     x --MatMul--> a --Transpose--> y               one group: the product stores y
//
// Values between the steps of a group are read by no other step and have no memory. What only moves
// elements is done by who reads them, where that can (moved_views.h).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "backends/lowered/lowered_graph.h"
#include "backends/vulkan/plugin/concat_places.h"
#include "backends/vulkan/plugin/moved_views.h"
#include "ops/elementwise/chain_vulkan.h"

namespace leat::vulkan {

// An operand of a group. Strides are those of a view where the kernel takes it as one.
struct GroupOperand {
    ValueId value;
    TensorArg arg;  // not present() where the operand is absent
    int64_t first_element = 0;
};

struct FusedGroup {
    // Of the lowered graph, ascending; the group runs where the last one stands. A group of one
    // step without a chain is the step as it is.
    std::vector<int32_t> steps;
    // What the steps compute; for a product or convolution, those after the first one, as its
    // epilogue (ops/elementwise/epilogue_vulkan.h). Its operands are input_ref() of `reads`.
    ElementwiseChain chain;
    bool is_epilogue = false;  // steps[0] is no step of the chain
    // Inputs of steps[0] where that is no step of the chain, then those of the chain.
    std::vector<GroupOperand> reads;
    // Outputs of the last step.
    std::vector<GroupOperand> results;
    // Output 0 of steps[0] as its kernel stores it, where that is not dense.
    std::optional<TensorArg> strided_result;
    // A step that only moves elements: by result that is stored, the view of reads[0] that it is.
    std::vector<StridedView> copies;

    bool has_chain() const { return !chain.steps.empty(); }
};

// As KernelTypes has them.
std::vector<DType> types_of(std::span<const TensorArg> args);

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
