#include "ops/depth_to_space/depth_to_space.h"
#include "ops/movement/movement_cpu.h"

namespace leat {
namespace cpu {
namespace {

Result<std::unique_ptr<CpuKernel>> make_depth_to_space(PrepareContext& context) {
    const TensorArg& y = context.outputs[0];
    if (!has_byte_elements(y.dtype) || y.shape.element_count() == 0) {
        return std::unique_ptr<CpuKernel>();
    }
    LEAT_ASSIGN_OR_RETURN(const BlockCopy copy,
                          BlockCopy::make(context.node, context.inputs[0], y));
    const auto axes = copy_axes(copy.shape, copy.source, copy.destination);
    std::vector<CopyJob> jobs;
    jobs.push_back({0, 0, StridedCopy(axes, element_bytes(y.dtype), 0, 0)});
    return make_copy_kernel(std::move(jobs), "block_copy");
}

constexpr CpuKernelEntry kDepthToSpaceCpuKernels[] = {
    {"DepthToSpace", make_depth_to_space},
    {"SpaceToDepth", make_depth_to_space},
};

}  // namespace
}  // namespace cpu

std::span<const cpu::CpuKernelEntry> depth_to_space_cpu_kernels() {
    return cpu::kDepthToSpaceCpuKernels;
}

}  // namespace leat
