// Chains of element-wise operators on Vulkan devices: one kernel, written as GLSL from the
// operators and the element types, computes all of them for each element.
//
// The text knows no shapes: extents and strides are parameters, and of its inputs it depends only
// on whether each is dense, one element or broadcast. So equal chains share a pipeline.
#pragma once

#include <string_view>
#include <vector>

#include "backends/vulkan/kernel/kernel.h"
#include "ops/elementwise/element_access.h"

namespace leat::vulkan {

// An operand of a step.
struct ChainOperand {
    enum class Kind : uint8_t {
        kInput,     // of the chain
        kResult,    // of an earlier step
        kConstant,  // an element that the host knows
        kIndex,     // the row-major index of the element of the output, u32
    };
    Kind kind = Kind::kInput;
    DType dtype = DType::kUndefined;  // of constants
    uint32_t index = 0;               // of the input or step
    uint64_t bits = 0;                // of constants: the element as it is stored
};
inline ChainOperand chain_input(size_t index) {
    return {ChainOperand::Kind::kInput, DType::kUndefined, uint32_t(index)};
}
inline ChainOperand chain_result(size_t step) {
    return {ChainOperand::Kind::kResult, DType::kUndefined, uint32_t(step)};
}
ChainOperand chain_constant(float value);

// One operator: operands are converted to `work`, and what the function gives to `result`. A
// function gives `work`, or bool where `result` is that. Results are rounded or wrapped to their
// type as if they were stored, so a chain has the bits of its operators one by one.
struct ChainStep {
    // Of shaders/elementwise_operators.glsl, a text that lives on; empty: the operand itself.
    std::string_view function;
    DType work = DType::kUndefined;
    DType result = DType::kUndefined;
    std::vector<ChainOperand> operands;
    NarrowOptions narrow = {};  // to a result of 8-bit floats
};

struct ChainInput {
    DType dtype = DType::kUndefined;
    Shape shape;  // broadcasts to the chain's
    OperandRef operand;
};

// The last step's result is the output, dense; it may lie over inputs of its shape and width.
struct ElementwiseChain {
    std::vector<ChainStep> steps;
    std::vector<ChainInput> inputs;
    Shape shape;
    OperandRef output;
};

constexpr int64_t kChainCountLimit = int64_t{1} << 31;  // elements; needs less
// Inputs of a chain, and words of its constants: a 64-bit constant takes two.
constexpr size_t kMaxChainInputs = kMaxOperands - 1;
constexpr size_t kMaxChainConstantWords = kScalars - 2;

// Empty if elements of the type can be computed with, else why not. Arithmetic: all integers, bool,
// f16, bf16, f32, f64.
std::string chain_refusal(DType dtype);
// The same of Cast, which needs no arithmetic: 8-bit floats, too.
std::string cast_refusal(DType dtype);

// Of the loops that computing one element has on devices that count them (kMostIterations):
// functions', and one over axes that finds the places of broadcast inputs. At most.
int64_t chain_iterations(const ElementwiseChain& chain);

// Nothing is written for an empty shape. unsupported: 2^31 elements or more, too many inputs or
// constants.
Status write_elementwise_chain(const ElementwiseChain& chain, KernelWriter& writer);

}  // namespace leat::vulkan
