// LayerNormalization in f32, a row a unit: mean and variance in two passes over a row that the
// first one brought to the cache.
#include <array>
#include <cmath>

#include "backends/cpu/unit_kernel.h"
#include "ops/layer_normalization/layer_normalization.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/layer_normalization/layer_normalization_cpu.cpp"
#include "backends/cpu/simd.h"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"
#include "ops/rows-inl.h"

HWY_BEFORE_NAMESPACE();
namespace leat {
namespace HWY_NAMESPACE {
namespace {

using cpu::KernelArgs;

template <bool kBias>
void normalize_row(const float* x,
                   const float* scale,
                   const float* bias,
                   float* y,
                   int64_t n,
                   const RowMoments& moments,
                   float inverse_deviation) {
    const DeltaTerm delta{hn::Set(kFloats, moments.mean), hn::Set(kFloats, moments.residual)};
    const FloatVec factor = hn::Set(kFloats, inverse_deviation);
    for_each_vector(n, [&](int64_t i, auto at) HWY_ATTR {
        const FloatVec normal = hn::Mul(delta(at.load(x + i)), factor);
        const FloatVec shift = kBias ? at.load(bias + i) : hn::Zero(kFloats);
        at.store(hn::MulAdd(normal, at.load(scale + i), shift), y + i);
    });
}

void normalize_rows(const LayerNormalizationGeometry& geometry,
                    const KernelArgs& args,
                    int64_t begin,
                    int64_t end) {
    const int64_t n = geometry.columns;
    const auto* scale = args.inputs[1].as<const float>();
    const TensorArg* given_bias = find_arg(args.inputs, 2);
    const auto* bias = given_bias != nullptr ? given_bias->as<const float>() : nullptr;
    const auto statistic = [&](int i) {
        const TensorArg* output = find_arg(args.outputs, i);
        return output != nullptr ? output->as<float>() : nullptr;
    };
    float* means = statistic(1);
    float* inverse_deviations = statistic(2);
    for (int64_t row = begin; row < end; ++row) {
        const float* x = args.inputs[0].as<const float>() + row * n;
        float* y = args.outputs[0].as<float>() + row * n;
        const RowMoments moments = row_moments(x, n);
        const float inverse = 1.0F / std::sqrt(moments.variance + geometry.epsilon);
        if (bias != nullptr) {
            normalize_row<true>(x, scale, bias, y, n, moments, inverse);
        } else {
            normalize_row<false>(x, scale, bias, y, n, moments, inverse);
        }
        if (means != nullptr) {
            means[row] = moments.mean + moments.residual;
        }
        if (inverse_deviations != nullptr) {
            inverse_deviations[row] = inverse;
        }
    }
}

}  // namespace

cpu::UnitFunction<LayerNormalizationGeometry> select_layer_normalization() {
    return normalize_rows;
}

}  // namespace HWY_NAMESPACE
}  // namespace leat
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace leat {
namespace {

HWY_EXPORT(select_layer_normalization);

constexpr auto kStashFloat32 = int64_t(DType::kFloat32);

bool is_covered(const cpu::PrepareContext& context, int64_t columns) {
    // By the attribute, not by the outputs: the rows have the same bits whoever reads statistics.
    const bool has_f32_statistics = context.node.attr("stash_type", int64_t{1}) == kStashFloat32;
    if (columns == 0 || !cpu::all_f32(context.inputs) || !has_f32_statistics ||
        !context.inputs[0].is_row_major() || !context.outputs[0].is_row_major()) {
        return false;
    }
    // Parameters that broadcast within a row are rare; the reference kernel takes them.
    for (size_t i = 1; i < context.inputs.size(); ++i) {
        const TensorArg& parameter = context.inputs[i];
        if (parameter.present() &&
            (!parameter.is_row_major() || parameter.shape.element_count() != columns)) {
            return false;
        }
    }
    return true;
}

Result<std::unique_ptr<cpu::CpuKernel>> make_layer_normalization(cpu::PrepareContext& context) {
    LEAT_ASSIGN_OR_RETURN(const auto geometry,
                          LayerNormalizationGeometry::make(context.node, context.inputs[0].shape));
    if (!is_covered(context, geometry.columns)) {
        return std::unique_ptr<cpu::CpuKernel>();
    }
    // Measured with AVX2 on data in L2: 0.25 ns an element and 25 ns a row.
    const double total_ns = double(geometry.rows) * (25.0 + 0.25 * double(geometry.columns));
    return std::unique_ptr<cpu::CpuKernel>(
        std::make_unique<cpu::UnitKernel<LayerNormalizationGeometry>>(
            "layer_normalization_f32", HWY_DYNAMIC_DISPATCH(select_layer_normalization)(), geometry,
            geometry.rows, total_ns));
}

}  // namespace

std::span<const cpu::CpuKernelEntry> layer_normalization_cpu_kernels() {
    static constexpr std::array<cpu::CpuKernelEntry, 1> kEntries{{
        {"LayerNormalization", make_layer_normalization},
    }};
    return kEntries;
}

}  // namespace leat
#endif  // HWY_ONCE
