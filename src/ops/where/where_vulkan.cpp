#include "ops/elementwise/node_vulkan.h"

namespace leat {
namespace vulkan {
namespace {

constexpr KernelEntry kKernels[] = {
    {"Where", elementwise_refusal, write_elementwise_node},
};

}  // namespace
}  // namespace vulkan

std::span<const vulkan::KernelEntry> where_vulkan_kernels() {
    return vulkan::kKernels;
}

}  // namespace leat
