// The CPU kernels of all operators, from the list in meson.build.
#include <vector>

#include "backends/cpu/cpu_kernel.h"

namespace leat {

#define LEAT_OP_FOLDER(folder) std::span<const cpu::CpuKernelEntry> folder##_cpu_kernels();
#include "op_table.inc"
#undef LEAT_OP_FOLDER

namespace cpu {

std::span<const std::span<const CpuKernelEntry>> all_cpu_kernels() {
    static const std::vector<std::span<const CpuKernelEntry>> kTables = {
#define LEAT_OP_FOLDER(folder) folder##_cpu_kernels(),
#include "op_table.inc"
#undef LEAT_OP_FOLDER
    };
    return kTables;
}

}  // namespace cpu
}  // namespace leat
