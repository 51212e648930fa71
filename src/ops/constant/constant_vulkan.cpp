#include <fmt/core.h>

#include <array>
#include <cstring>

#include "ops/elementwise/chain_vulkan.h"
#include "ops/elementwise/element_access.h"

namespace leat {
namespace vulkan {
namespace {

ChainOperand element_constant(DType dtype, const std::byte* element) {
    ChainOperand operand{ChainOperand::Kind::kConstant, dtype};
    std::memcpy(&operand.bits, element, size_t(bits_of(dtype)) / 8);
    return operand;
}

std::string refuse_fill(const NodeData& /*node*/, const KernelTypes& types) {
    const int bits = bits_of(types.outputs[0]);
    const bool is_plain =
        types.outputs[0] != DType::kString && (bits == 8 || bits == 16 || bits == 32 || bits == 64);
    return is_plain ? "" : fmt::format("no filling with {}", name_of(types.outputs[0]));
}

Status write_fill(const KernelNode& node, KernelWriter& writer) {
    const TensorArg& y = node.outputs[0];
    const DType dtype = unsigned_of_width(y.dtype);
    const Tensor* value = node.node.tensor("value");
    const std::array<std::byte, 8> zero{};
    ElementwiseChain chain;
    chain.steps.push_back(
        {"",
         dtype,
         dtype,
         {element_constant(dtype, value == nullptr ? zero.data() : value->bytes())}});
    chain.shape = y.shape;
    chain.output = output_ref(0);
    return write_elementwise_chain(chain, writer);
}

std::string refuse_range(const NodeData& /*node*/, const KernelTypes& types) {
    return chain_refusal(types.outputs[0]);
}

// In f64 or 64 bits, rounded or wrapped once.
Status write_range(const KernelNode& node, KernelWriter& writer) {
    const TensorArg& y = node.outputs[0];
    const DType work = contains(kFloatTypes, y.dtype) ? DType::kFloat64 : DType::kInt64;
    ElementwiseChain chain;
    chain.steps.push_back(
        {"Range",
         work,
         y.dtype,
         {ChainOperand{ChainOperand::Kind::kIndex}, element_constant(y.dtype, node.inputs[0].data),
          element_constant(y.dtype, node.inputs[2].data)}});
    chain.shape = y.shape;
    chain.output = output_ref(0);
    return write_elementwise_chain(chain, writer);
}

constexpr KernelEntry kConstantVulkanKernels[] = {
    {"ConstantOfShape", refuse_fill, write_fill},
    {"Range", refuse_range, write_range},
};

}  // namespace
}  // namespace vulkan

std::span<const vulkan::KernelEntry> constant_vulkan_kernels() {
    return vulkan::kConstantVulkanKernels;
}

}  // namespace leat
