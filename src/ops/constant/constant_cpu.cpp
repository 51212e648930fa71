// Constants are computed when a plan is made; what remains runs the reference kernel, which only
// fills.
#include "backends/cpu/cpu_kernel.h"

namespace leat {

std::span<const cpu::CpuKernelEntry> constant_cpu_kernels() {
    return {};
}

}  // namespace leat
