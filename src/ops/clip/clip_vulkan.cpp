#include "ops/elementwise/node_vulkan.h"

namespace leat {
namespace vulkan {
namespace {

constexpr KernelEntry kClipVulkanKernels[] = {
    {"Clip", elementwise_refusal, write_elementwise_node},
};

}  // namespace
}  // namespace vulkan

std::span<const vulkan::KernelEntry> clip_vulkan_kernels() {
    return vulkan::kClipVulkanKernels;
}

}  // namespace leat
