#include "ops/binary/binary.h"
#include "ops/elementwise/node_vulkan.h"

namespace leat {

std::span<const vulkan::KernelEntry> binary_vulkan_kernels() {
    static const std::vector<vulkan::KernelEntry> kKernels = [] {
        std::vector<vulkan::KernelEntry> kernels;
        kernels.reserve(binary_table().size());
        for (const auto& op : binary_table()) {
            kernels.push_back(
                {op.name, vulkan::elementwise_refusal, vulkan::write_elementwise_node});
        }
        return kernels;
    }();
    return kKernels;
}

}  // namespace leat
