// No kernels of its own: the reference kernel runs.
#include "backends/cpu/cpu_kernel.h"

namespace leat {

std::span<const cpu::CpuKernelEntry> mean_variance_normalization_cpu_kernels() {
    return {};
}

}  // namespace leat
