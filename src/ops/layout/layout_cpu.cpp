#include "ops/movement/movement_cpu.h"

namespace leat {
namespace cpu {
namespace {

Result<std::unique_ptr<CpuKernel>> make_layout(PrepareContext& context) {
    if (!has_byte_elements(context.outputs[0].dtype)) {
        return std::unique_ptr<CpuKernel>();
    }
    return make_copy_kernel({copy_job(0, context.inputs[0], 0, context.outputs[0])}, "layout_copy");
}

constexpr CpuKernelEntry kLayoutCpuKernels[] = {{"Layout", make_layout}};

}  // namespace
}  // namespace cpu

std::span<const cpu::CpuKernelEntry> layout_cpu_kernels() {
    return cpu::kLayoutCpuKernels;
}

}  // namespace leat
