#include "ops/movement/movement_cpu.h"
#include "ops/slice/slice.h"

namespace leat {
namespace cpu {
namespace {

// Operand i: its elements if they are known now; absent counts as known.
struct Operand {
    bool present = false;
    bool known = true;
    std::vector<int64_t> values;
};

Operand read_operand(const PrepareContext& context, size_t i) {
    Operand operand;
    if (i >= context.inputs.size() || !context.inputs[i].present()) {
        return operand;
    }
    operand.present = true;
    operand.known = context.inputs[i].data != nullptr;
    if (operand.known) {
        operand.values = read_ints(context.inputs[i]);
    }
    return operand;
}

Result<std::unique_ptr<CpuKernel>> make_slice(PrepareContext& context) {
    const TensorArg& x = context.inputs[0];
    const TensorArg& y = context.outputs[0];
    const Operand starts = read_operand(context, 1);
    const Operand ends = read_operand(context, 2);
    const Operand axes = read_operand(context, 3);
    const Operand steps = read_operand(context, 4);
    if (!has_byte_elements(x.dtype) || !starts.known || !ends.known || !axes.known ||
        !steps.known) {
        return std::unique_ptr<CpuKernel>();
    }
    LEAT_ASSIGN_OR_RETURN(
        const std::vector<SliceAxis> slices,
        slice_axes(x.shape, starts.values, ends.values, axes.present ? &axes.values : nullptr,
                   steps.present ? &steps.values : nullptr));
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

constexpr CpuKernelEntry kKernels[] = {{"Slice", make_slice}};

}  // namespace
}  // namespace cpu

std::span<const cpu::CpuKernelEntry> slice_cpu_kernels() {
    return cpu::kKernels;
}

}  // namespace leat
