#include "backends/vulkan/kernel.h"

#include <fmt/format.h>

namespace leat::vulkan {

KernelChoice choose_kernel(const NodeData& node, const KernelTypes& types) {
    KernelChoice choice;
    for (const std::span<const KernelEntry> table : all_kernels()) {
        for (const KernelEntry& entry : table) {
            if (entry.op_type != node.op_type) {
                continue;
            }
            choice.reason = entry.refusal(node, types);
            if (choice.reason.empty()) {
                choice.entry = &entry;
                return choice;
            }
        }
    }
    if (choice.reason.empty()) {
        choice.reason = fmt::format("no kernel for {}", node.op_type);
    }
    return choice;
}

}  // namespace leat::vulkan
