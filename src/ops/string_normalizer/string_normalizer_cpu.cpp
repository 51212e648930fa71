// No kernels of its own: texts are bound by memory, and the plain loops run.
#include "backends/cpu/cpu_kernel.h"
#include "ops/string_normalizer/string_normalizer.h"

namespace leat {

std::span<const cpu::CpuKernelEntry> string_normalizer_cpu_kernels() {
    return {};
}

}  // namespace leat
