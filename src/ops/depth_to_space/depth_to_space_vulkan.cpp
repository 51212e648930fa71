#include "base/error.h"
#include "ops/depth_to_space/depth_to_space.h"
#include "ops/movement/movement_vulkan.h"

namespace leat {
namespace vulkan {
namespace {

Status write_depth_to_space(const KernelNode& node, KernelWriter& writer) {
    LEAT_ASSIGN_OR_RETURN(const BlockCopy copy,
                          BlockCopy::make(node.node, node.inputs[0], node.outputs[0]));
    return write_strided_copy(writer, node.inputs[0].dtype, copy.shape,
                              {input_ref(0), 0, copy.source}, {output_ref(0), 0, copy.destination});
}

constexpr KernelEntry kDepthToSpaceVulkanKernels[] = {
    {"DepthToSpace", refuse_immovable, write_depth_to_space},
    {"SpaceToDepth", refuse_immovable, write_depth_to_space},
};

}  // namespace
}  // namespace vulkan

std::span<const vulkan::KernelEntry> depth_to_space_vulkan_kernels() {
    return vulkan::kDepthToSpaceVulkanKernels;
}

}  // namespace leat
