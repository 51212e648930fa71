#include "ops/elementwise/node_vulkan.h"

#include <fmt/core.h>

#include <bit>

#include "base/find_named.h"
#include "ops/binary/binary.h"
#include "ops/cast/cast.h"
#include "ops/elementwise/chain_types_vulkan.h"
#include "ops/logic/logic.h"
#include "ops/unary/unary.h"

namespace leat::vulkan {
namespace {

// The type in which the elements are moved, where it does not matter what they mean.
DType moved_type(DType dtype) {
    return contains(kByteFloatTypes, dtype) ? DType::kUint8
           : dtype == DType::kComplex64     ? DType::kUint64
                                            : dtype;
}

ChainStep step(std::string_view function,
               DType work,
               DType result,
               std::span<const ChainOperand> operands) {
    return {function, work, result, {operands.begin(), operands.end()}};
}

ChainStep unary_step(const UnaryOp& op,
                     const NodeData& node,
                     DType dtype,
                     std::span<const ChainOperand> operands) {
    // Shrink's parameters are real numbers also where the elements are integers.
    const DType work =
        op.name == "Shrink" && !contains(kFloatTypes, dtype) ? DType::kFloat64 : dtype;
    ChainStep result = step(op.name, work, dtype, operands);
    const UnaryParams params = unary_params(op, node.attributes);
    for (size_t i = 0; i < op.parameters.size() && !op.parameters[i].name.empty(); ++i) {
        result.operands.push_back(chain_constant(params[i]));
    }
    if (op.name == "Gelu") {
        result.operands.push_back(chain_constant(params[0]));
    }
    return result;
}

ChainStep binary_step(const NodeData& node,
                      const KernelTypes& types,
                      std::span<const ChainOperand> operands) {
    const DType dtype = types.inputs[0];
    DType work = dtype;
    // Pow of two types: integers in 64 bits, whose low ones are the result, others in f64.
    if (node.op_type == "Pow" && types.inputs[1] != dtype) {
        const bool natural =
            contains(kUnsignedTypes, dtype) && contains(kUnsignedTypes, types.inputs[1]);
        const bool integer = contains(kIntTypes, dtype) && contains(kIntTypes, types.inputs[1]);
        work = natural ? DType::kUint64 : integer ? DType::kInt64 : DType::kFloat64;
    }
    return step(binary_expression(node), work, dtype, operands);
}

ChainStep logic_step(const NodeData& node, DType dtype, std::span<const ChainOperand> operands) {
    // Steps outlive the node, so the name is the table's.
    const LogicOp* row = find_named(logic_table(), node.op_type);
    ChainStep result = step(row->name, dtype, DType::kBool, operands);
    if (node.op_type == "IsInf") {
        for (const char* sign : {"detect_negative", "detect_positive"}) {
            result.operands.push_back(
                chain_constant(node.attr(sign, int64_t{1}) != 0 ? 1.0F : 0.0F));
        }
    }
    return result;
}

// One step for each input after the first.
void append_variadic(std::string_view op,
                     DType dtype,
                     std::span<const ChainOperand> operands,
                     std::vector<ChainStep>& steps) {
    const std::string_view function = op == "Max" ? "Max" : op == "Min" ? "Min" : "Add";
    const bool selects = function != "Add";
    // Sums are rounded once, at the end.
    const DType sum = bits_of(dtype) == 16 ? DType::kFloat32 : dtype;
    const DType between = selects ? dtype : sum;
    // Sums of large numbers would be infinite where their mean is none. A power of two changes no
    // bit of others.
    const float scale = op == "Mean" ? float(std::bit_ceil(operands.size())) : 1.0F;
    const auto scaled = [&](const ChainOperand& operand) {
        if (scale == 1) {
            return operand;
        }
        const ChainOperand pair[] = {operand, chain_constant(scale)};
        steps.push_back(step("DivideBy", between, between, pair));
        return chain_result(steps.size() - 1);
    };
    ChainOperand last = scaled(operands[0]);
    for (size_t i = 1; i < operands.size(); ++i) {
        const ChainOperand pair[] = {last, scaled(operands[i])};
        steps.push_back(step(function, between, between, pair));
        last = chain_result(steps.size() - 1);
    }
    if (op == "Mean") {
        const ChainOperand pair[] = {last, chain_constant(float(operands.size()) / scale)};
        steps.push_back(step("DivideBy", between, dtype, pair));
    } else if (between != dtype || operands.size() == 1) {
        steps.push_back(step("", between, dtype, std::span(&last, 1)));
    }
}

// A bound that is absent is no operand.
std::string_view clip_function(const NodeData& node) {
    const bool has_low = node.own_inputs() > 1 && node.inputs[1].valid();
    const bool has_high = node.own_inputs() > 2 && node.inputs[2].valid();
    return has_low && has_high ? "Clip" : has_low ? "ClipLow" : has_high ? "ClipHigh" : "";
}

bool is_variadic(std::string_view op) {
    return op == "Max" || op == "Min" || op == "Sum" || op == "Mean";
}

// The first reason why chains do not take the types as the node uses them; empty if there is none.
std::string type_refusal(const NodeData& node, const KernelTypes& types, bool moves) {
    for (const std::span<const DType> dtypes : {types.inputs, types.outputs}) {
        for (const DType dtype : dtypes) {
            if (dtype == DType::kUndefined) {
                continue;
            }
            std::string refusal = node.op_type == "Cast"
                                      ? cast_refusal(dtype)
                                      : chain_refusal(moves ? moved_type(dtype) : dtype);
            if (!refusal.empty()) {
                return refusal;
            }
        }
    }
    return {};
}

}  // namespace

bool is_elementwise(const NodeData& node) {
    const std::string_view op = node.op_type;
    return find_unary(op) != nullptr || find_binary(op) != nullptr || is_variadic(op) ||
           op == "Clip" || op == "Where" || op == "Cast" ||
           find_named(logic_table(), op) != nullptr;
}

std::string elementwise_refusal(const NodeData& node, const KernelTypes& types) {
    if (!node.epilogue.empty()) {
        return "no epilogues of element-wise operators";
    }
    return type_refusal(node, types, node.op_type == "Where");
}

std::string step_refusal(const NodeData& node, const KernelTypes& types) {
    std::string refusal = elementwise_refusal(node, types);
    if (refusal.empty() && node.op_type == "Cast" && types.inputs[0] == types.outputs[0] &&
        contains(kByteFloatTypes, types.inputs[0])) {
        return "a copy of codes";  // a step would round numbers
    }
    // Where moves elements that have no arithmetic; chains compute.
    return refusal.empty() ? type_refusal(node, types, false) : refusal;
}

void append_steps(const NodeData& node,
                  const KernelTypes& types,
                  std::span<const ChainOperand> operands,
                  std::vector<ChainStep>& steps) {
    const std::string_view op = node.op_type;
    const DType dtype = types.inputs[0];
    const DType result = types.outputs[0];
    if (const UnaryOp* unary = find_unary(op)) {
        steps.push_back(unary_step(*unary, node, dtype, operands));
    } else if (find_binary(op) != nullptr) {
        steps.push_back(binary_step(node, types, operands));
    } else if (is_variadic(op)) {
        append_variadic(op, dtype, operands, steps);
    } else if (op == "Clip") {
        steps.push_back(step(clip_function(node), dtype, dtype, operands));
    } else if (op == "Where") {
        steps.push_back(step("Where", moved_type(result), moved_type(result), operands));
    } else if (op == "Cast") {
        steps.push_back(step("", dtype, result, operands));
        steps.back().narrow = cast_options(node);
    } else {
        steps.push_back(logic_step(node, dtype, operands));
    }
}

Status write_elementwise_node(const KernelNode& node, KernelWriter& writer) {
    ElementwiseChain chain;
    std::vector<DType> input_types;
    std::vector<ChainOperand> operands;
    for (size_t i = 0; i < node.inputs.size(); ++i) {
        const TensorArg& input = node.inputs[i];
        input_types.push_back(input.dtype);
        if (input.present()) {
            operands.push_back(chain_input(chain.inputs.size()));
            const DType dtype =
                node.node.op_type == "Where" ? moved_type(input.dtype) : input.dtype;
            chain.inputs.push_back({dtype, input.shape, input_ref(int32_t(i))});
        }
    }
    const DType result = node.outputs[0].dtype;
    append_steps(node.node, {input_types, std::span(&result, 1)}, operands, chain.steps);
    chain.shape = node.outputs[0].shape;
    chain.output = output_ref(0);
    return write_elementwise_chain(chain, writer);
}

}  // namespace leat::vulkan
