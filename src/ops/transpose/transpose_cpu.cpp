#include "ops/movement/movement_cpu.h"
#include "ops/transpose/transpose.h"

namespace leat {
namespace cpu {
namespace {

Result<std::unique_ptr<CpuKernel>> make_transpose(PrepareContext& context) {
    const TensorArg& x = context.inputs[0];
    const TensorArg& y = context.outputs[0];
    if (!has_byte_elements(x.dtype)) {
        return std::unique_ptr<CpuKernel>();
    }
    LEAT_ASSIGN_OR_RETURN(const auto permutation,
                          transpose_permutation(context.node, x.shape.rank()));
    TensorArg permuted = x;
    for (int axis = 0; axis < y.shape.rank(); ++axis) {
        permuted.strides[size_t(axis)] = x.strides[size_t(permutation[size_t(axis)])];
    }
    std::vector<CopyJob> jobs;
    jobs.push_back(copy_job(0, permuted, 0, y));
    return make_copy_kernel(std::move(jobs), "transpose_copy");
}

constexpr CpuKernelEntry kTransposeCpuKernels[] = {{"Transpose", make_transpose}};

}  // namespace
}  // namespace cpu

std::span<const cpu::CpuKernelEntry> transpose_cpu_kernels() {
    return cpu::kTransposeCpuKernels;
}

}  // namespace leat
