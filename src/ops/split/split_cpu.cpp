#include "ops/movement/movement_cpu.h"

namespace leat {
namespace cpu {
namespace {

Result<std::unique_ptr<CpuKernel>> make_split(PrepareContext& context) {
    const TensorArg& x = context.inputs[0];
    if (!has_byte_elements(x.dtype)) {
        return std::unique_ptr<CpuKernel>();
    }
    LEAT_ASSIGN_OR_RETURN(const int axis, axis_of(context.node, x.shape.rank()));
    std::vector<CopyJob> jobs;
    jobs.reserve(context.outputs.size());
    int64_t offset = 0;
    for (size_t i = 0; i < context.outputs.size(); ++i) {
        const TensorArg& y = context.outputs[i];
        if (y.present()) {
            const auto axes = copy_axes(y.shape, x.strides, y.strides);
            jobs.push_back({0, int(i), StridedCopy(axes, element_bytes(x.dtype), offset, 0)});
        }
        offset += y.shape[axis] * x.strides[size_t(axis)];
    }
    return make_copy_kernel(std::move(jobs), "split_copy");
}

constexpr CpuKernelEntry kSplitCpuKernels[] = {{"Split", make_split}};

}  // namespace
}  // namespace cpu

std::span<const cpu::CpuKernelEntry> split_cpu_kernels() {
    return cpu::kSplitCpuKernels;
}

}  // namespace leat
