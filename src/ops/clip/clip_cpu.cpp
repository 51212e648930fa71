// f32 by the Highway function, int32 and int64 by plain loops. The bounds are read when a row runs:
// they need not be constants.
#include <limits>
#include <memory>

#include "ops/clip/clip.h"
#include "ops/elementwise/row_kernel_cpu.h"
#include "ops/elementwise/row_loops_cpu.h"
#include "ops/elementwise/unary_f32.h"

namespace leat {

using cpu::Row;

namespace {

template <class T>
T bound(const Row& row, int i, T fallback) {
    return i < row.input_count && row.inputs[size_t(i)] != nullptr ? *row.input<T>(i) : fallback;
}

void run_f32(const Row& row) {
    constexpr float kInfinity = std::numeric_limits<float>::infinity();
    const UnaryF32 call = static_cast<const UnaryF32Function*>(row.state)->call;
    const float params[4] = {bound(row, 1, -kInfinity), bound(row, 2, kInfinity)};
    Row x = row;
    x.input_count = 1;
    cpu::for_contiguous<float, 1>(x, [&](const auto& from, const auto&, float* y, int64_t n) {
        call(from[0], y, n, params);
    });
}

template <class T>
void run_integer(const Row& row) {
    const T low = bound(row, 1, std::numeric_limits<T>::min());
    const T high = bound(row, 2, std::numeric_limits<T>::max());
    cpu::map_unary<T, T>(row, [=](T x) {
        const T raised = x < low ? low : x;
        return raised > high ? high : raised;
    });
}

Result<std::unique_ptr<cpu::CpuKernel>> make_clip(cpu::PrepareContext& context) {
    const TensorArg& x = context.inputs[0];
    cpu::RowKernelSpec spec;
    spec.ns_per_element = 0.1;
    if (x.dtype == DType::kFloat32) {
        spec.name = "clip_f32";
        spec.function = run_f32;
        spec.state = std::make_shared<UnaryF32Function>(*find_unary_f32("Clip", {}));
    } else if (x.dtype == DType::kInt32) {
        spec.name = "clip_i32";
        spec.function = run_integer<int32_t>;
    } else if (x.dtype == DType::kInt64) {
        spec.name = "clip_i64";
        spec.function = run_integer<int64_t>;
    } else {
        return std::unique_ptr<cpu::CpuKernel>();
    }
    return cpu::make_row_kernel(spec, context.outputs[0], context.inputs);
}

}  // namespace

std::span<const cpu::CpuKernelEntry> clip_cpu_kernels() {
    static constexpr cpu::CpuKernelEntry kEntries[] = {{"Clip", make_clip}};
    return kEntries;
}

}  // namespace leat
