#include "ops/elementwise/node_vulkan.h"
#include "ops/unary/unary.h"

namespace leat {

std::span<const vulkan::KernelEntry> unary_vulkan_kernels() {
    static const std::vector<vulkan::KernelEntry> kKernels = [] {
        std::vector<vulkan::KernelEntry> kernels;
        kernels.reserve(unary_table().size());
        for (const auto& op : unary_table()) {
            kernels.push_back(
                {op.name, vulkan::elementwise_refusal, vulkan::write_elementwise_node});
        }
        return kernels;
    }();
    return kKernels;
}

}  // namespace leat
