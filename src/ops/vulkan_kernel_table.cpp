// The Vulkan kernels of all operators, from the list in meson.build.
#include <vector>

#include "backends/vulkan/kernel/kernel.h"

namespace leat {

#define LEAT_OP_FOLDER(folder) std::span<const vulkan::KernelEntry> folder##_vulkan_kernels();
#include "vulkan_op_table.inc"
#undef LEAT_OP_FOLDER

namespace vulkan {

std::span<const std::span<const KernelEntry>> all_kernels() {
    static const std::vector<std::span<const KernelEntry>> kTables = {
#define LEAT_OP_FOLDER(folder) folder##_vulkan_kernels(),
#include "vulkan_op_table.inc"
#undef LEAT_OP_FOLDER
    };
    return kTables;
}

}  // namespace vulkan
}  // namespace leat
