#include "ops/bitcast/bitcast.h"
#include "ops/movement/movement_vulkan.h"

namespace leat {
namespace vulkan {
namespace {

constexpr KernelEntry kBitcastVulkanKernels[] = {{"BitCast", refuse_nothing, write_whole_copy}};

}  // namespace
}  // namespace vulkan

std::span<const vulkan::KernelEntry> bitcast_vulkan_kernels() {
    return vulkan::kBitcastVulkanKernels;
}

}  // namespace leat
