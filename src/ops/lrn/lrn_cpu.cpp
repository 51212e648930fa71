// LRN in f32: vectors of channels where they are innermost, else vectors of positions.
#include <array>

#include "backends/cpu/unit_kernel.h"
#include "ops/lrn/lrn.h"

#ifndef LEAT_LRN_PARAMS
#define LEAT_LRN_PARAMS
namespace leat::cpu {
struct LrnParams {
    LrnParameters op;
    int64_t channels = 0;
    int64_t plane = 0;
    // Channels last: positions of all images, a unit is a block of them. Row-major: positions of
    // one image, a unit is a block of one image.
    Blocks positions;
};
// Windows up to this size are covered; the squares of one position, padded by it, lie in the
// scratch.
inline constexpr int64_t kMaxLrnSize = 64;
}  // namespace leat::cpu
#endif

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/lrn/lrn_cpu.cpp"
#include "backends/cpu/simd.h"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"
#include "ops/elementwise/math-inl.h"
#include "ops/rows-inl.h"

HWY_BEFORE_NAMESPACE();
namespace leat {
namespace HWY_NAMESPACE {
namespace {

using cpu::KernelArgs;
using cpu::LrnParams;

// x / base^beta. The usual beta, 0.75, needs two square roots instead of a logarithm.
struct ThreeQuarters {
    static HWY_INLINE FloatVec divide(FloatVec x, FloatVec base, float /*beta*/) {
        const FloatVec root = hn::Sqrt(base);
        return hn::Div(x, hn::Mul(root, hn::Sqrt(root)));
    }
};
struct AnyPower {
    static HWY_INLINE FloatVec divide(FloatVec x, FloatVec base, float beta) {
        const FloatVec exponent = hn::Mul(hn::Set(kFloats, -beta), log_f32(kFloats, base));
        return hn::Mul(x, exp_f32(kFloats, exponent));
    }
};

template <class Power>
HWY_INLINE FloatVec normalized(const LrnParameters& op, FloatVec x, FloatVec squares) {
    const FloatVec base = hn::MulAdd(squares, hn::Set(kFloats, float(op.alpha_over_size)),
                                     hn::Set(kFloats, float(op.bias)));
    return Power::divide(x, base, float(op.beta));
}

// One position: squares go to the scratch, behind and before as many zeros as a window reaches.
template <class Power>
void lrn_position(const LrnParams& params, const float* x, float* y, float* padded) {
    const int64_t channels = params.channels;
    float* squares = padded + (params.op.size - 1) / 2;
    for (int64_t c = 0; c < channels; c += kFloatLanes) {
        const FloatVec v = load_up_to(x + c, channels - c);
        hn::StoreU(hn::Mul(v, v), kFloats, squares + c);  // the lanes beyond are zeros
    }
    for (int64_t c = 0; c < channels; c += kFloatLanes) {
        FloatVec sum = hn::LoadU(kFloats, padded + c);
        for (int64_t k = 1; k < params.op.size; ++k) {
            sum = hn::Add(sum, hn::LoadU(kFloats, padded + c + k));
        }
        const FloatVec v = load_up_to(x + c, channels - c);
        store_up_to(normalized<Power>(params.op, v, sum), y + c, channels - c);
    }
}

template <class Power>
void lrn_channels_last(const LrnParams& params,
                       const KernelArgs& args,
                       int64_t begin,
                       int64_t end) {
    auto* padded = reinterpret_cast<float*>(args.scratch);
    std::fill_n(padded, params.channels + cpu::kMaxLrnSize + 2 * kFloatLanes, 0.0F);
    for (int64_t i = params.positions.begin(begin); i < params.positions.end(end - 1); ++i) {
        const int64_t offset = i * params.channels;
        lrn_position<Power>(params, args.inputs[0].as<const float>() + offset,
                            args.outputs[0].as<float>() + offset, padded);
    }
}

// Up to kFloatLanes neighbouring positions of one image, all channels.
template <class Power>
void lrn_column(const LrnParams& params, const float* x, float* y, int64_t lanes) {
    for (int64_t c = 0; c < params.channels; ++c) {
        FloatVec sum = hn::Zero(kFloats);
        const int64_t last = params.op.end_channel(c, params.channels);
        for (int64_t k = params.op.first_channel(c); k < last; ++k) {
            const FloatVec v = load_up_to(x + k * params.plane, lanes);
            sum = hn::MulAdd(v, v, sum);
        }
        const FloatVec v = load_up_to(x + c * params.plane, lanes);
        store_up_to(normalized<Power>(params.op, v, sum), y + c * params.plane, lanes);
    }
}

template <class Power>
void lrn_row_major(const LrnParams& params, const KernelArgs& args, int64_t begin, int64_t end) {
    for (int64_t unit = begin; unit < end; ++unit) {
        const int64_t image = unit / params.positions.count() * params.channels * params.plane;
        const int64_t block = unit % params.positions.count();
        const int64_t last = params.positions.end(block);
        for (int64_t p = params.positions.begin(block); p < last; p += kFloatLanes) {
            lrn_column<Power>(params, args.inputs[0].as<const float>() + image + p,
                              args.outputs[0].as<float>() + image + p, last - p);
        }
    }
}

}  // namespace

cpu::UnitFunction<LrnParams> select_lrn(bool channels_last, bool three_quarters) {
    if (channels_last) {
        return three_quarters ? lrn_channels_last<ThreeQuarters> : lrn_channels_last<AnyPower>;
    }
    return three_quarters ? lrn_row_major<ThreeQuarters> : lrn_row_major<AnyPower>;
}

}  // namespace HWY_NAMESPACE
}  // namespace leat
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace leat {
namespace {

HWY_EXPORT(select_lrn);

Result<std::unique_ptr<cpu::CpuKernel>> make_lrn(cpu::PrepareContext& context) {
    const TensorArg& x = context.inputs[0];
    const TensorArg& y = context.outputs[0];
    const bool row_major = x.is_row_major() && y.is_row_major();
    const bool channels_last = cpu::is_channels_last(x) && cpu::is_channels_last(y);
    cpu::LrnParams params;
    params.op = LrnParameters::make(context.node);
    if (x.dtype != DType::kFloat32 || params.op.size > cpu::kMaxLrnSize ||
        (!row_major && !channels_last)) {
        return std::unique_ptr<cpu::CpuKernel>();
    }
    params.channels = x.shape[1];
    params.plane = x.shape.element_count(2, x.shape.rank());
    // A matrix [n, c] has its channels innermost in either layout.
    const bool by_channels = !row_major || params.plane == 1;
    const int64_t images = x.shape[0];
    params.positions =
        by_channels ? cpu::Blocks{images * params.plane, 8} : cpu::Blocks{params.plane, 16};
    const int64_t units = params.positions.count() * (by_channels ? 1 : images);
    const bool three_quarters = params.op.beta == 0.75;
    // Measured with AVX2 on data in L2.
    const double ns = three_quarters ? 0.5 : 1.2;
    auto kernel = std::make_unique<cpu::UnitKernel<cpu::LrnParams>>(
        by_channels ? "lrn_f32_channels_last" : "lrn_f32",
        HWY_DYNAMIC_DISPATCH(select_lrn)(by_channels, three_quarters), params, units,
        ns * double(x.shape.element_count()));
    constexpr int64_t kWidestVector = 16;  // floats of AVX-512
    kernel->scratch_bytes =
        (params.channels + cpu::kMaxLrnSize + 2 * kWidestVector) * int64_t(sizeof(float));
    return std::unique_ptr<cpu::CpuKernel>(std::move(kernel));
}

}  // namespace

std::span<const cpu::CpuKernelEntry> lrn_cpu_kernels() {
    static constexpr std::array<cpu::CpuKernelEntry, 1> kEntries{{{"LRN", make_lrn}}};
    return kEntries;
}

}  // namespace leat
#endif  // HWY_ONCE
