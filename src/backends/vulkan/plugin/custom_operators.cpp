#include "backends/vulkan/plugin/custom_operators.h"

#include <fmt/core.h>

#include <algorithm>

#include "backends/vulkan/plugin/failure.h"

namespace leat::vulkan {

void CustomOperators::add_kernel(std::string_view domain,
                                 std::string_view op_type,
                                 std::string_view text) {
    const LeatOperator schema = schema_of(domain, op_type);
    auto kernel = std::make_shared<CustomKernel>(
        value_or_throw(parse_custom_kernel(fmt::format("{}.{}", domain, op_type), text)));
    kernel->max_inputs = std::max(schema.max_inputs, 0);
    const std::lock_guard lock(mutex_);
    kernels_[{std::string(domain), std::string(op_type)}] = std::move(kernel);
}

std::shared_ptr<const CustomKernel> CustomOperators::kernel_of(const NodeData& node) const {
    const std::lock_guard lock(mutex_);
    const auto found = kernels_.find({node.domain, node.op_type});
    return found == kernels_.end() ? nullptr : found->second;
}

NodeKernel find_kernel(const NodeData& node,
                       const KernelTypes& types,
                       const CustomOperators& operators) {
    NodeKernel found;
    if (node.def != nullptr) {
        KernelChoice choice = choose_kernel(node, types);
        found.reason = std::move(choice.reason);
        if (choice.entry != nullptr) {
            found.write = choice.entry->write;
            found.host_inputs = node.def->shape_inputs | choice.entry->host_inputs;
        }
    } else if (!operators.is_registered(node)) {
        found.reason = fmt::format("operator {}.{} is unknown", node.domain, node.op_type);
    } else if (found.custom = operators.kernel_of(node); found.custom == nullptr) {
        found.reason = fmt::format("operator {}.{} has no kernel here", node.domain, node.op_type);
    } else {
        found.write = [kernel = found.custom](const KernelNode& written, KernelWriter& writer) {
            return write_custom(*kernel, written, writer);
        };
    }
    return found;
}

}  // namespace leat::vulkan
