#include "ops/elementwise/node_vulkan.h"

namespace leat {
namespace vulkan {
namespace {

constexpr KernelEntry kWhereVulkanKernels[] = {
    {"Where", elementwise_refusal, write_elementwise_node},
};

}  // namespace
}  // namespace vulkan

std::span<const vulkan::KernelEntry> where_vulkan_kernels() {
    return vulkan::kWhereVulkanKernels;
}

}  // namespace leat
