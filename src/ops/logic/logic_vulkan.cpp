#include "ops/elementwise/node_vulkan.h"
#include "ops/logic/logic.h"

namespace leat {

std::span<const vulkan::KernelEntry> logic_vulkan_kernels() {
    static const std::vector<vulkan::KernelEntry> kKernels = [] {
        std::vector<vulkan::KernelEntry> kernels;
        kernels.reserve(logic_table().size());
        for (const auto& op : logic_table()) {
            kernels.push_back(
                {op.name, vulkan::elementwise_refusal, vulkan::write_elementwise_node});
        }
        return kernels;
    }();
    return kKernels;
}

}  // namespace leat
