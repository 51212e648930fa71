// No kernels of its own: the reference kernel runs.
#include "backends/cpu/cpu_kernel.h"

namespace leat {

std::span<const cpu::CpuKernelEntry> lp_normalization_cpu_kernels() {
    return {};
}

}  // namespace leat
