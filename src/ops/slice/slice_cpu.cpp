#include <algorithm>

#include "ops/movement/movement_cpu.h"
#include "ops/slice/slice.h"

namespace leat {
namespace cpu {
namespace {

Result<std::unique_ptr<CpuKernel>> make_slice(PrepareContext& context) {
    const TensorArg& x = context.inputs[0];
    const TensorArg& y = context.outputs[0];
    const bool is_known = std::all_of(
        context.inputs.begin() + 1, context.inputs.end(),
        [](const TensorArg& operand) { return !operand.present() || operand.data != nullptr; });
    if (!has_byte_elements(x.dtype) || !is_known) {
        return std::unique_ptr<CpuKernel>();
    }
    LEAT_ASSIGN_OR_RETURN(const std::vector<SliceAxis> slices, slice_axes(context.inputs));
    std::vector<CopyAxis> copy;
    int64_t offset = 0;
    for (size_t axis = 0; axis < slices.size(); ++axis) {
        const int64_t step = slices[axis].extent > 1 ? slices[axis].step : 0;
        offset += slices[axis].start * x.strides[axis];
        copy.push_back({slices[axis].extent, step * x.strides[axis], y.strides[axis]});
    }
    std::vector<CopyJob> jobs = {{0, 0, StridedCopy(copy, element_bytes(x.dtype), offset, 0)}};
    return make_copy_kernel(std::move(jobs), "slice_copy");
}

constexpr CpuKernelEntry kSliceCpuKernels[] = {{"Slice", make_slice}};

}  // namespace
}  // namespace cpu

std::span<const cpu::CpuKernelEntry> slice_cpu_kernels() {
    return cpu::kSliceCpuKernels;
}

}  // namespace leat
