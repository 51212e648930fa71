#include "ops/expand/expand.h"
#include "ops/movement/movement_cpu.h"

namespace leat {
namespace cpu {
namespace {

Result<std::unique_ptr<CpuKernel>> make_expand(PrepareContext& context) {
    const TensorArg& y = context.outputs[0];
    if (!has_byte_elements(y.dtype)) {
        return std::unique_ptr<CpuKernel>();
    }
    TensorArg broadcast = context.inputs[0];
    broadcast.strides = broadcast_strides(broadcast, y.shape);
    return make_copy_kernel({copy_job(0, broadcast, 0, y)}, "expand_copy");
}

Result<std::unique_ptr<CpuKernel>> make_tile(PrepareContext& context) {
    const TensorArg& x = context.inputs[0];
    const TensorArg& y = context.outputs[0];
    if (!has_byte_elements(y.dtype) || y.shape.element_count() == 0) {
        return std::unique_ptr<CpuKernel>();
    }
    // Two axes of the copy for each of x: its repeats, which do not move the source, and its
    // elements.
    std::vector<CopyAxis> axes;
    for (int axis = 0; axis < y.shape.rank(); ++axis) {
        const auto a = size_t(axis);
        axes.push_back({y.shape[axis] / x.shape[axis], 0, y.strides[a] * x.shape[axis]});
        axes.push_back({x.shape[axis], x.strides[a], y.strides[a]});
    }
    std::vector<CopyJob> jobs = {{0, 0, StridedCopy(axes, element_bytes(y.dtype), 0, 0)}};
    return make_copy_kernel(std::move(jobs), "tile_copy");
}

constexpr CpuKernelEntry kExpandCpuKernels[] = {{"Expand", make_expand}, {"Tile", make_tile}};

}  // namespace
}  // namespace cpu

std::span<const cpu::CpuKernelEntry> expand_cpu_kernels() {
    return cpu::kExpandCpuKernels;
}

}  // namespace leat
