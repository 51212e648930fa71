#include "ops/movement/movement_vulkan.h"
#include "ops/transpose/transpose.h"

namespace leat {
namespace vulkan {
namespace {

Status write_transpose(const KernelNode& node, KernelWriter& writer) {
    const TensorArg& x = node.inputs[0];
    const TensorArg& y = node.outputs[0];
    LEAT_ASSIGN_OR_RETURN(const auto permutation, transpose_permutation(node.node, x.shape.rank()));
    CopyEnd from{input_ref(0)};
    for (int axis = 0; axis < y.shape.rank(); ++axis) {
        from.strides[size_t(axis)] = x.strides[size_t(permutation[size_t(axis)])];
    }
    return write_strided_copy(writer, x.dtype, y.shape, from, {output_ref(0), 0, y.strides});
}

constexpr KernelEntry kTransposeVulkanKernels[] = {
    {"Transpose", refuse_immovable, write_transpose}};

}  // namespace
}  // namespace vulkan

std::span<const vulkan::KernelEntry> transpose_vulkan_kernels() {
    return vulkan::kTransposeVulkanKernels;
}

}  // namespace leat
