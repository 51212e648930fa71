// BatchNormalization in f32 for inference: y = x factor[c] + offset[c].
#include <array>
#include <cmath>

#include "backends/cpu/unit_kernel.h"
#include "ops/batch_normalization/batch_normalization.h"

#ifndef LEAT_BATCH_NORMALIZATION_PARAMS
#define LEAT_BATCH_NORMALIZATION_PARAMS
namespace leat::cpu {
struct BatchNormalizationParams {
    int64_t channels = 0;
    int64_t plane = 0;  // row-major: positions of one image and channel
    float epsilon = 0;
    Blocks positions;  // channels last: a unit is a block of positions of all images; else a plane
};
}  // namespace leat::cpu
#endif

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/batch_normalization/batch_normalization_cpu.cpp"
#include "backends/cpu/simd.h"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"
#include "ops/rows-inl.h"

HWY_BEFORE_NAMESPACE();
namespace leat {
namespace HWY_NAMESPACE {
namespace {

using cpu::BatchNormalizationParams;
using cpu::KernelArgs;

void normalize_planes(const BatchNormalizationParams& params,
                      const KernelArgs& args,
                      int64_t begin,
                      int64_t end) {
    const int64_t n = params.plane;
    for (int64_t plane = begin; plane < end; ++plane) {
        const int64_t c = plane % params.channels;
        const auto parameter = [&](size_t i) { return args.inputs[i].as<const float>()[c]; };
        const float scale = parameter(1) / std::sqrt(parameter(4) + params.epsilon);
        const FloatVec factor = hn::Set(kFloats, scale);
        const FloatVec offset = hn::Set(kFloats, parameter(2) - parameter(3) * scale);
        const float* x = args.inputs[0].as<const float>() + plane * n;
        float* y = args.outputs[0].as<float>() + plane * n;
        for_each_vector(n, [&](int64_t i, auto at) HWY_ATTR {
            at.store(hn::MulAdd(at.load(x + i), factor, offset), y + i);
        });
    }
}

// Blocks of positions, a vector of channels after the other: factors stay in registers.
void normalize_positions(const BatchNormalizationParams& params,
                         const KernelArgs& args,
                         int64_t begin,
                         int64_t end) {
    const int64_t stride = params.channels;
    const FloatVec epsilon = hn::Set(kFloats, params.epsilon);
    for (int64_t block = begin; block < end; ++block) {
        const int64_t first = params.positions.begin(block);
        const int64_t count = params.positions.end(block) - first;
        for (int64_t c = 0; c < stride; c += kFloatLanes) {
            const int64_t lanes = stride - c;
            const auto parameter = [&](size_t i) HWY_ATTR {
                return load_up_to(args.inputs[i].as<const float>() + c, lanes);
            };
            const FloatVec deviation = hn::Sqrt(hn::Add(parameter(4), epsilon));
            const FloatVec factor = hn::Div(parameter(1), deviation);
            const FloatVec offset = hn::NegMulAdd(parameter(3), factor, parameter(2));
            const float* x = args.inputs[0].as<const float>() + first * stride + c;
            float* y = args.outputs[0].as<float>() + first * stride + c;
            for (int64_t i = 0; i < count; ++i, x += stride, y += stride) {
                store_up_to(hn::MulAdd(load_up_to(x, lanes), factor, offset), y, lanes);
            }
        }
    }
}

}  // namespace

cpu::UnitFunction<BatchNormalizationParams> select_batch_normalization(bool planes) {
    return planes ? normalize_planes : normalize_positions;
}

}  // namespace HWY_NAMESPACE
}  // namespace leat
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace leat {
namespace {

HWY_EXPORT(select_batch_normalization);

Result<std::unique_ptr<cpu::CpuKernel>> make_batch_normalization(cpu::PrepareContext& context) {
    const TensorArg& x = context.inputs[0];
    const TensorArg& y = context.outputs[0];
    const int rank = x.shape.rank();
    const bool row_major = x.is_row_major() && y.is_row_major();
    const bool channels_last = cpu::is_channels_last(x) && cpu::is_channels_last(y);
    const bool training = context.node.attr("training_mode", int64_t{0}) != 0;
    if (training || rank < 2 || !cpu::all_f32(context.inputs) || (!row_major && !channels_last)) {
        return std::unique_ptr<cpu::CpuKernel>();
    }
    cpu::BatchNormalizationParams params;
    params.channels = x.shape[1];
    params.plane = x.shape.element_count(2, rank);
    params.epsilon = context.node.attr("epsilon", 1e-5F);
    params.positions = {x.shape[0] * params.plane, 16};
    // A matrix [n, c] has its channels innermost in either layout.
    const bool planes = row_major && rank > 2 && params.plane > 1;
    const int64_t units = planes ? x.shape[0] * x.shape[1] : params.positions.count();
    // Measured with AVX2 on data in L2.
    const double total_ns = 0.1 * double(x.shape.element_count()) + 10.0 * double(units);
    return std::unique_ptr<cpu::CpuKernel>(
        std::make_unique<cpu::UnitKernel<cpu::BatchNormalizationParams>>(
            planes ? "batch_normalization_f32" : "batch_normalization_f32_channels_last",
            HWY_DYNAMIC_DISPATCH(select_batch_normalization)(planes), params, units, total_ns));
}

}  // namespace

std::span<const cpu::CpuKernelEntry> batch_normalization_cpu_kernels() {
    static constexpr std::array<cpu::CpuKernelEntry, 1> kEntries{{
        {"BatchNormalization", make_batch_normalization},
    }};
    return kEntries;
}

}  // namespace leat
#endif  // HWY_ONCE
