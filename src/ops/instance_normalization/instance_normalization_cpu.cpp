// InstanceNormalization in f32: planes in a row where they are row-major, columns of channels in
// vectors where the channels are innermost.
#include <array>
#include <cmath>

#include "backends/cpu/unit_kernel.h"
#include "ops/instance_normalization/instance_normalization.h"

#ifndef LEAT_INSTANCE_NORMALIZATION_PARAMS
#define LEAT_INSTANCE_NORMALIZATION_PARAMS
namespace leat::cpu {
struct InstanceNormalizationParams {
    int64_t plane = 0;  // positions of one image and channel
    float epsilon = 0;
    Blocks channels;  // channels last: a unit is one block of one image; else a unit is a plane
};
}  // namespace leat::cpu
#endif

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/instance_normalization/instance_normalization_cpu.cpp"
#include "backends/cpu/simd.h"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"
#include "ops/rows-inl.h"

HWY_BEFORE_NAMESPACE();
namespace leat {
namespace HWY_NAMESPACE {
namespace {

using cpu::InstanceNormalizationParams;
using cpu::KernelArgs;

void normalize_planes(const InstanceNormalizationParams& params,
                      const KernelArgs& args,
                      int64_t begin,
                      int64_t end) {
    const int64_t n = params.plane;
    for (int64_t plane = begin; plane < end; ++plane) {
        const int64_t c = plane % params.channels.extent;
        const float* x = args.inputs[0].as<const float>() + plane * n;
        float* y = args.outputs[0].as<float>() + plane * n;
        const RowMoments moments = row_moments(x, n);
        const float scale =
            args.inputs[1].as<const float>()[c] / std::sqrt(moments.variance + params.epsilon);
        const DeltaTerm delta{hn::Set(kFloats, moments.mean), hn::Set(kFloats, moments.residual)};
        const FloatVec factor = hn::Set(kFloats, scale);
        const FloatVec bias = hn::Set(kFloats, args.inputs[2].as<const float>()[c]);
        for_each_vector(n, [&](int64_t i, auto at) HWY_ATTR {
            at.store(hn::MulAdd(delta(at.load(x + i)), factor, bias), y + i);
        });
    }
}

// Sums term[v](x) down the columns.
template <class Term, int kVectors>
struct SumFold {
    static constexpr bool kSums = true;
    Term term[kVectors];
    HWY_INLINE FloatVec initial() const { return hn::Zero(kFloats); }
    HWY_INLINE FloatVec step(FloatVec total, FloatVec x, int v) const {
        return hn::Add(total, term[v](x));
    }
};

// One image, channels innermost.
struct ImageColumns {
    const float* x;
    float* y;
    const float* scale;
    const float* bias;
    int64_t positions;
    int64_t stride;
    float epsilon;

    template <int kVectors>
    HWY_INLINE void run(int64_t c, int64_t lanes) const {
        const float* from = x + c;
        const FloatVec zero = hn::Zero(kFloats);
        const FloatVec share = hn::Set(kFloats, 1.0F / float(positions));
        FloatVec sum[kVectors];
        SumFold<DeltaTerm, kVectors> deltas;
        SumFold<SquaredDeltaTerm, kVectors> squares;
        for (DeltaTerm& delta : deltas.term) {
            delta = {zero, zero};
        }
        fold_columns(from, positions, stride, lanes, deltas, sum);
        for (int v = 0; v < kVectors; ++v) {
            deltas.term[v].mean = hn::Mul(sum[v], share);
        }
        fold_columns(from, positions, stride, lanes, deltas, sum);
        for (int v = 0; v < kVectors; ++v) {
            deltas.term[v].residual = hn::Mul(sum[v], share);
            squares.term[v].delta = deltas.term[v];
        }
        fold_columns(from, positions, stride, lanes, squares, sum);
        FloatVec factor[kVectors];
        FloatVec offset[kVectors];
        for (int v = 0; v < kVectors; ++v) {
            const FloatVec variance = hn::MulAdd(sum[v], share, hn::Set(kFloats, epsilon));
            factor[v] =
                hn::Div(load_column<kVectors>(scale + c, v, lanes, zero), hn::Sqrt(variance));
            offset[v] = load_column<kVectors>(bias + c, v, lanes, zero);
        }
        for (int64_t i = 0; i < positions; ++i) {
#pragma GCC unroll 4
            for (int v = 0; v < kVectors; ++v) {
                const FloatVec value = load_column<kVectors>(from + i * stride, v, lanes, zero);
                const FloatVec result = hn::MulAdd(deltas.term[v](value), factor[v], offset[v]);
                store_column<kVectors>(result, y + c + i * stride, v, lanes);
            }
        }
    }
};

void normalize_channel_blocks(const InstanceNormalizationParams& params,
                              const KernelArgs& args,
                              int64_t begin,
                              int64_t end) {
    const int64_t stride = params.channels.extent;
    for (int64_t unit = begin; unit < end; ++unit) {
        const int64_t image = unit / params.channels.count() * params.plane * stride;
        const int64_t block = unit % params.channels.count();
        const ImageColumns columns{args.inputs[0].as<const float>() + image,
                                   args.outputs[0].as<float>() + image,
                                   args.inputs[1].as<const float>(),
                                   args.inputs[2].as<const float>(),
                                   params.plane,
                                   stride,
                                   params.epsilon};
        for_each_column_group(params.channels.begin(block), params.channels.end(block), columns);
    }
}

}  // namespace

cpu::UnitFunction<InstanceNormalizationParams> select_instance_normalization(bool planes) {
    return planes ? normalize_planes : normalize_channel_blocks;
}

}  // namespace HWY_NAMESPACE
}  // namespace leat
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace leat {
namespace {

HWY_EXPORT(select_instance_normalization);

Result<std::unique_ptr<cpu::CpuKernel>> make_instance_normalization(cpu::PrepareContext& context) {
    const TensorArg& x = context.inputs[0];
    const TensorArg& y = context.outputs[0];
    const bool planes = x.is_row_major() && y.is_row_major();
    const bool channels_last = cpu::is_channels_last(x) && cpu::is_channels_last(y);
    if (!cpu::all_f32(context.inputs) || (!planes && !channels_last)) {
        return std::unique_ptr<cpu::CpuKernel>();
    }
    cpu::InstanceNormalizationParams params;
    params.plane = x.shape.element_count(2, x.shape.rank());
    params.epsilon = context.node.attr("epsilon", 1e-5F);
    params.channels = {x.shape[1], 64};
    const int64_t units = x.shape[0] * (planes ? x.shape[1] : params.channels.count());
    // Measured with AVX2 on data in L2.
    const double total_ns = 0.3 * double(x.shape.element_count()) + 30.0 * double(units);
    return std::unique_ptr<cpu::CpuKernel>(
        std::make_unique<cpu::UnitKernel<cpu::InstanceNormalizationParams>>(
            planes ? "instance_normalization_f32" : "instance_normalization_f32_channels_last",
            HWY_DYNAMIC_DISPATCH(select_instance_normalization)(planes), params,
            params.plane == 0 ? 0 : units, total_ns));
}

}  // namespace

std::span<const cpu::CpuKernelEntry> instance_normalization_cpu_kernels() {
    static constexpr std::array<cpu::CpuKernelEntry, 1> kEntries{{
        {"InstanceNormalization", make_instance_normalization},
    }};
    return kEntries;
}

}  // namespace leat
#endif  // HWY_ONCE
