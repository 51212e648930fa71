#include "backends/vulkan/kernel/kernel.h"

#include <fmt/core.h>

#include "base/error.h"
#include "base/transformed.h"

namespace leat::vulkan {

std::vector<DType> types_of(std::span<const TensorArg> args) {
    return transformed(args, &TensorArg::dtype);
}

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

Status make_window(OperandRef& operand, int64_t size_bytes, KernelWriter& writer) {
    if (!writer.can_be_window(operand)) {
        const OperandRef copy = writer.scratch(size_bytes);
        LEAT_RETURN_IF_ERROR(writer.copy(operand, copy, size_bytes));
        operand = copy;
    }
    operand.size_bytes = size_bytes;
    return Status();
}

}  // namespace leat::vulkan
