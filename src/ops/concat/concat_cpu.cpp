#include "ops/movement/movement_cpu.h"

namespace leat {
namespace cpu {
namespace {

Result<std::unique_ptr<CpuKernel>> make_concat(PrepareContext& context) {
    const TensorArg& y = context.outputs[0];
    if (!has_byte_elements(y.dtype)) {
        return std::unique_ptr<CpuKernel>();
    }
    LEAT_ASSIGN_OR_RETURN(const int axis, axis_of(context.node, y.shape.rank()));
    std::vector<CopyJob> jobs;
    jobs.reserve(context.inputs.size());
    int64_t offset = 0;
    for (size_t i = 0; i < context.inputs.size(); ++i) {
        const TensorArg& x = context.inputs[i];
        const auto axes = copy_axes(x.shape, x.strides, y.strides);
        jobs.push_back({int(i), 0, StridedCopy(axes, element_bytes(y.dtype), 0, offset)});
        offset += x.shape[axis] * y.strides[size_t(axis)];
    }
    return make_copy_kernel(std::move(jobs), "concat_copy");
}

constexpr CpuKernelEntry kConcatCpuKernels[] = {{"Concat", make_concat}};

}  // namespace
}  // namespace cpu

std::span<const cpu::CpuKernelEntry> concat_cpu_kernels() {
    return cpu::kConcatCpuKernels;
}

}  // namespace leat
