#include "base/error.h"
#include "ops/elementwise/element_access.h"
#include "ops/elementwise/node_vulkan.h"

namespace leat {
namespace vulkan {
namespace {

// What several kernels add up to before the last one: sums of 16-bit numbers are rounded once.
DType partial_type(std::string_view op, DType dtype) {
    const bool selects = op == "Max" || op == "Min";
    return !selects && bits_of(dtype) == 16 ? DType::kFloat32 : dtype;
}

// Inputs beyond those of one kernel: each takes as many as it can, and the partial result of the
// one before in place of its first.
Status write_variadic(const KernelNode& node, KernelWriter& writer) {
    if (node.inputs.size() <= kMaxChainInputs) {
        return write_elementwise_node(node, writer);
    }
    const std::string_view op = node.node.op_type;
    const TensorArg& y = node.outputs[0];
    const DType partial = partial_type(op, y.dtype);
    const bool selects = op == "Max" || op == "Min";
    const int64_t partial_bytes = y.shape.element_count() * bits_of(partial) / 8;
    if (partial_bytes == 0) {
        return {};
    }
    ChainInput carried;
    for (size_t next = 0; next < node.inputs.size();) {
        ElementwiseChain chain;
        chain.shape = y.shape;
        if (next > 0) {
            chain.inputs.push_back(carried);
        }
        while (chain.inputs.size() < kMaxChainInputs && next < node.inputs.size()) {
            const TensorArg& input = node.inputs[next];
            chain.inputs.push_back({input.dtype, input.shape, input_ref(int32_t(next++))});
        }
        for (size_t i = 1; i < chain.inputs.size(); ++i) {
            const ChainOperand last = i == 1 ? chain_input(0) : chain_result(i - 2);
            chain.steps.push_back({selects ? op : "Add", partial, partial, {last, chain_input(i)}});
        }
        const bool is_last = next == node.inputs.size();
        if (is_last && op == "Mean") {
            chain.steps.push_back({"DivideBy",
                                   partial,
                                   y.dtype,
                                   {chain_result(chain.steps.size() - 1),
                                    chain_constant(float(node.inputs.size()))}});
        } else if (is_last && partial != y.dtype) {
            chain.steps.push_back({"", partial, y.dtype, {chain_result(chain.steps.size() - 1)}});
        }
        chain.output = is_last ? output_ref(0) : writer.scratch(partial_bytes);
        carried = {partial, y.shape, chain.output};
        LEAT_RETURN_IF_ERROR(write_elementwise_chain(chain, writer));
    }
    return {};
}

constexpr KernelEntry kVariadicVulkanKernels[] = {
    {"Max", elementwise_refusal, write_variadic},
    {"Mean", elementwise_refusal, write_variadic},
    {"Min", elementwise_refusal, write_variadic},
    {"Sum", elementwise_refusal, write_variadic},
};

}  // namespace
}  // namespace vulkan

std::span<const vulkan::KernelEntry> variadic_vulkan_kernels() {
    return vulkan::kVariadicVulkanKernels;
}

}  // namespace leat
