// Bodies are steps of plans of their own; what has no such plan runs the reference kernel.
#include "backends/cpu/cpu_kernel.h"

namespace leat {

std::span<const cpu::CpuKernelEntry> control_flow_cpu_kernels() {
    return {};
}

}  // namespace leat
