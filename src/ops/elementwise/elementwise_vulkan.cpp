// The kernels of the element-wise operators that have no other: a chain of one node.
#include "ops/binary/binary.h"
#include "ops/elementwise/node_vulkan.h"
#include "ops/logic/logic.h"
#include "ops/unary/unary.h"

namespace leat {

std::span<const vulkan::KernelEntry> elementwise_vulkan_kernels() {
    static const std::vector<vulkan::KernelEntry> kKernels = [] {
        std::vector<vulkan::KernelEntry> kernels;
        const auto add = [&](std::string_view name) {
            kernels.push_back({name, vulkan::elementwise_refusal, vulkan::write_elementwise_node});
        };
        const auto add_all = [&](const auto& table) {
            for (const auto& op : table) {
                add(op.name);
            }
        };
        add_all(unary_table());
        add_all(binary_table());
        add_all(logic_table());
        add("Clip");
        add("Where");
        return kernels;
    }();
    return kKernels;
}

}  // namespace leat
