// GroupNormalization in f32, a group of one image a unit: its channels lie behind one another.
#include <array>
#include <cmath>

#include "backends/cpu/unit_kernel.h"
#include "ops/group_normalization/group_normalization.h"

#ifndef LEAT_GROUP_NORMALIZATION_PARAMS
#define LEAT_GROUP_NORMALIZATION_PARAMS
namespace leat::cpu {
struct GroupNormalizationParams {
    int64_t groups = 1;
    int64_t channels = 0;  // of a group
    int64_t plane = 0;     // elements of a channel
    float epsilon = 0;
};
}  // namespace leat::cpu
#endif

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/group_normalization/group_normalization_cpu.cpp"
#include "backends/cpu/simd.h"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"
#include "ops/rows-inl.h"

HWY_BEFORE_NAMESPACE();
namespace leat {
namespace HWY_NAMESPACE {
namespace {

using cpu::GroupNormalizationParams;

void normalize_channel_groups(const GroupNormalizationParams& params,
                              const cpu::KernelArgs& args,
                              int64_t begin,
                              int64_t end) {
    const int64_t count = params.channels * params.plane;
    const auto* scales = args.inputs[1].as<const float>();
    const auto* biases = args.inputs[2].as<const float>();
    for (int64_t group = begin; group < end; ++group) {
        const float* x = args.inputs[0].as<const float>() + group * count;
        float* y = args.outputs[0].as<float>() + group * count;
        const RowMoments moments = row_moments(x, count);
        const float inverse = 1.0F / std::sqrt(moments.variance + params.epsilon);
        const DeltaTerm delta{hn::Set(kFloats, moments.mean), hn::Set(kFloats, moments.residual)};
        for (int64_t k = 0; k < params.channels; ++k, x += params.plane, y += params.plane) {
            const int64_t c = group % params.groups * params.channels + k;
            const FloatVec factor = hn::Set(kFloats, scales[c] * inverse);
            const FloatVec bias = hn::Set(kFloats, biases[c]);
            for_each_vector(params.plane, [&](int64_t i, auto at) HWY_ATTR {
                at.store(hn::MulAdd(delta(at.load(x + i)), factor, bias), y + i);
            });
        }
    }
}

}  // namespace

cpu::UnitFunction<GroupNormalizationParams> select_group_normalization() {
    return normalize_channel_groups;
}

}  // namespace HWY_NAMESPACE
}  // namespace leat
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace leat {
namespace {

HWY_EXPORT(select_group_normalization);

Result<std::unique_ptr<cpu::CpuKernel>> make_group_normalization(cpu::PrepareContext& context) {
    const TensorArg& x = context.inputs[0];
    if (!cpu::all_f32(context.inputs) || !x.is_row_major() || !context.outputs[0].is_row_major() ||
        x.shape.element_count() == 0) {
        return std::unique_ptr<cpu::CpuKernel>();
    }
    cpu::GroupNormalizationParams params;
    params.groups = context.node.attr("num_groups", int64_t{1});
    params.channels = x.shape[1] / params.groups;
    params.plane = x.shape.element_count(2, x.shape.rank());
    params.epsilon = context.node.attr("epsilon", 1e-5F);
    const int64_t units = x.shape[0] * params.groups;
    // As InstanceNormalization.
    const double total_ns = 0.3 * double(x.shape.element_count()) + 30.0 * double(units);
    return std::unique_ptr<cpu::CpuKernel>(
        std::make_unique<cpu::UnitKernel<cpu::GroupNormalizationParams>>(
            "group_normalization_f32", HWY_DYNAMIC_DISPATCH(select_group_normalization)(), params,
            units, total_ns));
}

}  // namespace

std::span<const cpu::CpuKernelEntry> group_normalization_cpu_kernels() {
    static constexpr std::array<cpu::CpuKernelEntry, 1> kEntries{{
        {"GroupNormalization", make_group_normalization},
    }};
    return kEntries;
}

}  // namespace leat
#endif  // HWY_ONCE
