// RMSNormalization in f32, a row a unit: the sum of squares, then a pass over what it brought to
// the cache.
#include <array>
#include <cmath>
#include <limits>

#include "backends/cpu/unit_kernel.h"
#include "ops/rms_normalization/rms_normalization.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/rms_normalization/rms_normalization_cpu.cpp"
#include "backends/cpu/simd.h"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"
#include "ops/rows-inl.h"

HWY_BEFORE_NAMESPACE();
namespace leat {
namespace HWY_NAMESPACE {
namespace {

using cpu::KernelArgs;

struct SquareTerm {
    HWY_INLINE FloatVec operator()(FloatVec v) const { return hn::Mul(v, v); }
    double operator()(double v) const { return v * v; }
};

// Squares of floats may be beyond the floats, or too small for them.
double sum_of_squares(const float* x, int64_t n) {
    constexpr double kLeast = 1e-25;
    const double sum = sum_terms(x, n, SquareTerm());
    return sum > kLeast && sum < double(std::numeric_limits<float>::max())
               ? sum
               : sum_in_double(x, n, 1, SquareTerm());
}

void scale_by_root_mean_square(const RmsNormalizationGeometry& geometry,
                               const KernelArgs& args,
                               int64_t begin,
                               int64_t end) {
    const int64_t n = geometry.columns;
    const auto* scale = args.inputs[1].as<const float>();
    for (int64_t row = begin; row < end; ++row) {
        const float* x = args.inputs[0].as<const float>() + row * n;
        float* y = args.outputs[0].as<float>() + row * n;
        const double mean = sum_of_squares(x, n) / double(n);
        const double factor = 1 / std::sqrt(mean + double(geometry.epsilon));
        const auto narrow_factor = float(factor);
        if (narrow_factor < std::numeric_limits<float>::min() || std::isinf(narrow_factor)) {
            for (int64_t i = 0; i < n; ++i) {
                y[i] = float(double(x[i]) * factor * double(scale[i]));
            }
            continue;
        }
        const FloatVec factors = hn::Set(kFloats, narrow_factor);
        for_each_vector(n, [&](int64_t i, auto at) HWY_ATTR {
            at.store(hn::Mul(hn::Mul(at.load(x + i), factors), at.load(scale + i)), y + i);
        });
    }
}

}  // namespace

cpu::UnitFunction<RmsNormalizationGeometry> select_rms_normalization() {
    return scale_by_root_mean_square;
}

}  // namespace HWY_NAMESPACE
}  // namespace leat
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace leat {
namespace {

HWY_EXPORT(select_rms_normalization);

// True if each row has the same scale, an element for each of its own.
bool has_scale_by_column(const TensorArg& x, const TensorArg& scale, int axis) {
    const int behind = x.shape.rank() - scale.shape.rank();
    for (int a = 0; a < x.shape.rank(); ++a) {
        const int64_t extent = a < behind ? 1 : scale.shape[a - behind];
        if (extent != (a < axis ? 1 : x.shape[a])) {
            return false;
        }
    }
    return scale.is_row_major();
}

Result<std::unique_ptr<cpu::CpuKernel>> make_rms_normalization(cpu::PrepareContext& context) {
    const TensorArg& x = context.inputs[0];
    LEAT_ASSIGN_OR_RETURN(const auto geometry,
                          RmsNormalizationGeometry::make(context.node, x.shape));
    LEAT_ASSIGN_OR_RETURN(const int axis, axis_of(context.node, x.shape.rank(), -1));
    if (geometry.columns == 0 || !cpu::all_f32(context.inputs) || !x.is_row_major() ||
        !context.outputs[0].is_row_major() || !has_scale_by_column(x, context.inputs[1], axis)) {
        return std::unique_ptr<cpu::CpuKernel>();
    }
    // As LayerNormalization with one pass less.
    const double total_ns = double(geometry.rows) * (20.0 + 0.15 * double(geometry.columns));
    return std::unique_ptr<cpu::CpuKernel>(
        std::make_unique<cpu::UnitKernel<RmsNormalizationGeometry>>(
            "rms_normalization_f32", HWY_DYNAMIC_DISPATCH(select_rms_normalization)(), geometry,
            geometry.rows, total_ns));
}

}  // namespace

std::span<const cpu::CpuKernelEntry> rms_normalization_cpu_kernels() {
    static constexpr std::array<cpu::CpuKernelEntry, 1> kEntries{{
        {"RMSNormalization", make_rms_normalization},
    }};
    return kEntries;
}

}  // namespace leat
#endif  // HWY_ONCE
