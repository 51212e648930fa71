// Trilu by units: the rows of all matrices.
#include <cstring>

#include "backends/cpu/unit_kernel.h"
#include "ops/movement/movement_cpu.h"
#include "ops/trilu/trilu.h"

namespace leat {
namespace {

constexpr double kTriluBytesPerNs = 8;  // written, to memory

struct TriluParams {
    Triangle triangle;
    int64_t element_bytes = 1;
};

void copy_triangle(const TriluParams& params,
                   const cpu::KernelArgs& args,
                   int64_t begin,
                   int64_t end) {
    const Triangle triangle = params.triangle.moved_by(find_arg(args.inputs, 1));
    const int64_t line_bytes = triangle.columns * params.element_bytes;
    for (int64_t line = begin; line < end; ++line) {
        const std::byte* const from = args.inputs[0].data + line * line_bytes;
        std::byte* const to = args.outputs[0].data + line * line_bytes;
        const int64_t edge = triangle.edge(line % triangle.rows) * params.element_bytes;
        const int64_t kept = triangle.is_upper ? edge : 0;
        const int64_t kept_end = triangle.is_upper ? line_bytes : edge;
        std::memset(to, 0, size_t(kept));
        if (from != to) {
            std::memcpy(to + kept, from + kept, size_t(kept_end - kept));
        }
        std::memset(to + kept_end, 0, size_t(line_bytes - kept_end));
    }
}

Result<std::unique_ptr<cpu::CpuKernel>> make_trilu(cpu::PrepareContext& context) {
    const TensorArg& y = context.outputs[0];
    const int64_t count = y.shape.element_count();
    if (!cpu::has_byte_elements(y.dtype) || count == 0) {
        return std::unique_ptr<cpu::CpuKernel>();
    }
    const TriluParams params{Triangle::make(context.node, y.shape), cpu::element_bytes(y.dtype)};
    return std::unique_ptr<cpu::CpuKernel>(std::make_unique<cpu::UnitKernel<TriluParams>>(
        "trilu_rows", copy_triangle, params, count / y.shape[y.shape.rank() - 1],
        double(y.byte_count()) / kTriluBytesPerNs));
}

constexpr cpu::CpuKernelEntry kTriluCpuKernels[] = {{"Trilu", make_trilu}};

}  // namespace

std::span<const cpu::CpuKernelEntry> trilu_cpu_kernels() {
    return kTriluCpuKernels;
}

}  // namespace leat
