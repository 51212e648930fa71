// Operators of programs on Vulkan devices, and the kernels of nodes, whoever they are from.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

#include "backends/lowered/registered_operators.h"
#include "backends/vulkan/kernel/kernel.h"
#include "ops/custom/custom_vulkan.h"

namespace leat::vulkan {

// Thread-safe.
class CustomOperators final : public lowered::RegisteredOperators {
  public:
    // Throws where the operator is not registered, or the text is no kernel.
    void add_kernel(std::string_view domain, std::string_view op_type, std::string_view text);
    // Null: none.
    std::shared_ptr<const CustomKernel> kernel_of(const NodeData& node) const;

  private:
    mutable std::mutex mutex_;
    std::map<std::pair<std::string, std::string>, std::shared_ptr<const CustomKernel>>
        kernels_;  // by domain and op_type
};

// What writes a node's commands.
struct NodeKernel {
    std::function<Status(const KernelNode&, KernelWriter&)> write;  // null: nothing does
    uint32_t host_inputs = 0;                                       // bit i: input i
    std::shared_ptr<const CustomKernel> custom;                     // null: a kernel of leat
    std::string reason;                                             // why nothing does
};
NodeKernel find_kernel(const NodeData& node,
                       const KernelTypes& types,
                       const CustomOperators& operators);

}  // namespace leat::vulkan
