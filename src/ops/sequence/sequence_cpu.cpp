// Whole values take no kernel of a plan.
#include "backends/cpu/cpu_kernel.h"

namespace leat {

std::span<const cpu::CpuKernelEntry> sequence_cpu_kernels() {
    return {};
}

}  // namespace leat
