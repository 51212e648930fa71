// Softmax and LogSoftmax in f32: rows of the last axis, or columns of an inner axis in vectors.
#include <array>
#include <cmath>
#include <limits>

#include "backends/cpu/unit_kernel.h"
#include "ops/softmax/softmax.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/softmax/softmax_cpu.cpp"
#include "backends/cpu/simd.h"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"
#include "ops/rows-inl.h"

HWY_BEFORE_NAMESPACE();
namespace leat {
namespace HWY_NAMESPACE {
namespace {

using cpu::KernelArgs;
using cpu::SplitParams;

// e^x for x <= 0, NaN for NaN; 2 ulp above -87.3, 0 below. 2^n P(r) with x = n log 2 + r.
HWY_INLINE FloatVec exp_nonpositive(FloatVec x) {
    constexpr float kLowest = -87.3F;  // 2^-126 is the smallest normal float
    // In this order x86 keeps a NaN of x.
    const FloatVec clamped = hn::Max(hn::Set(kFloats, kLowest), x);
    const FloatVec n = hn::Round(hn::Mul(clamped, hn::Set(kFloats, 1.44269504F)));
    FloatVec r = hn::NegMulAdd(n, hn::Set(kFloats, 0.693359375F), clamped);
    r = hn::NegMulAdd(n, hn::Set(kFloats, -2.12194440e-4F), r);
    // Cephes' expf.
    FloatVec p = hn::Set(kFloats, 1.9875691500e-4F);
    p = hn::MulAdd(p, r, hn::Set(kFloats, 1.3981999507e-3F));
    p = hn::MulAdd(p, r, hn::Set(kFloats, 8.3334519073e-3F));
    p = hn::MulAdd(p, r, hn::Set(kFloats, 4.1665795894e-2F));
    p = hn::MulAdd(p, r, hn::Set(kFloats, 1.6666665459e-1F));
    p = hn::MulAdd(p, r, hn::Set(kFloats, 5.0000001201e-1F));
    p = hn::MulAdd(p, hn::Mul(r, r), hn::Add(r, hn::Set(kFloats, 1.0F)));
    const hn::RebindToSigned<Floats> ints;
    const auto power = hn::ShiftLeft<23>(hn::Add(hn::ConvertTo(ints, n), hn::Set(ints, 127)));
    const FloatVec y = hn::Mul(p, hn::BitCast(kFloats, power));
    return hn::IfThenZeroElse(hn::Lt(x, hn::Set(kFloats, kLowest)), y);
}

float row_max(const float* x, int64_t n) {
    FloatVec m0 = hn::Set(kFloats, -std::numeric_limits<float>::infinity());
    const FloatVec lowest = m0;
    FloatVec m1 = m0;
    int64_t i = 0;
    for (; i + 2 * kFloatLanes <= n; i += 2 * kFloatLanes) {
        m0 = hn::Max(m0, hn::LoadU(kFloats, x + i));
        m1 = hn::Max(m1, hn::LoadU(kFloats, x + i + kFloatLanes));
    }
    for (; i < n; i += kFloatLanes) {
        m0 = hn::Max(m0, load_up_to(x + i, n - i, lowest));
    }
    return hn::GetLane(hn::MaxOfLanes(kFloats, hn::Max(m0, m1)));
}

struct ExpTerm {
    FloatVec max;
    HWY_INLINE FloatVec operator()(FloatVec v) const { return exp_nonpositive(hn::Sub(v, max)); }
};

// y = e^(x - max) of up to kSumBlock elements; the result is their sum.
HWY_INLINE float store_block(const float* x, float* y, int64_t n, const ExpTerm& term) {
    FloatVec s0 = hn::Zero(kFloats);
    FloatVec s1 = s0;
    int64_t i = 0;
    for (; i + 2 * kFloatLanes <= n; i += 2 * kFloatLanes) {
        const FloatVec e0 = term(hn::LoadU(kFloats, x + i));
        const FloatVec e1 = term(hn::LoadU(kFloats, x + i + kFloatLanes));
        hn::StoreU(e0, kFloats, y + i);
        hn::StoreU(e1, kFloats, y + i + kFloatLanes);
        s0 = hn::Add(s0, e0);
        s1 = hn::Add(s1, e1);
    }
    const FloatVec none = hn::Set(kFloats, -std::numeric_limits<float>::infinity());
    for (; i < n; i += kFloatLanes) {
        const FloatVec e0 = term(load_up_to(x + i, n - i, none));
        store_up_to(e0, y + i, n - i);
        s0 = hn::Add(s0, e0);
    }
    return sum_of_lanes(hn::Add(s0, s1));
}
// The same of longer rows.
HWY_NOINLINE double store_blocks(const float* x, float* y, int64_t n, const ExpTerm& term) {
    double total = 0;
    for (int64_t i = 0; i < n; i += kSumBlock) {
        total += double(store_block(x + i, y + i, std::min(n - i, kSumBlock), term));
    }
    return total;
}

template <bool kLog>
void softmax_row(const float* x, float* y, int64_t n) {
    const float max = row_max(x, n);
    const ExpTerm term{hn::Set(kFloats, max)};
    if constexpr (kLog) {
        const FloatVec log_sum = hn::Set(kFloats, std::log(float(sum_terms(x, n, term))));
        for_each_vector(n, [&](int64_t i, auto at) HWY_ATTR {
            at.store(hn::Sub(hn::Sub(at.load(x + i), term.max), log_sum), y + i);
        });
    } else {
        const float sum =
            n <= kSumBlock ? store_block(x, y, n, term) : float(store_blocks(x, y, n, term));
        const auto factor = hn::Set(kFloats, 1.0F / sum);
        for_each_vector(n, [&](int64_t i, auto at)
                               HWY_ATTR { at.store(hn::Mul(at.load(y + i), factor), y + i); });
    }
}

template <bool kLog>
void softmax_rows(const SplitParams& params, const KernelArgs& args, int64_t begin, int64_t end) {
    const int64_t n = params.split.extent;
    const float* x = args.inputs[0].as<const float>() + begin * n;
    float* y = args.outputs[0].as<float>() + begin * n;
    for (int64_t row = begin; row < end; ++row, x += n, y += n) {
        softmax_row<kLog>(x, y, n);
    }
}

struct MaxFold {
    static constexpr bool kSums = false;
    HWY_INLINE FloatVec initial() const {
        return hn::Set(kFloats, -std::numeric_limits<float>::infinity());
    }
    HWY_INLINE FloatVec step(FloatVec total, FloatVec x, int /*v*/) const {
        return hn::Max(total, x);
    }
    HWY_INLINE FloatVec merge(FloatVec a, FloatVec b) const { return hn::Max(a, b); }
};

HWY_INLINE FloatVec log_of_lanes(FloatVec x) {
    HWY_ALIGN float lanes[hn::MaxLanes(kFloats)];
    hn::Store(x, kFloats, lanes);
    for (float& value : lanes) {
        value = std::log(value);
    }
    return hn::Load(kFloats, lanes);
}

// The columns of one outer index.
template <bool kLog>
struct SoftmaxColumns {
    const float* x;
    float* y;
    int64_t extent;
    int64_t stride;

    template <int kVectors>
    HWY_INLINE void run(int64_t c, int64_t lanes) const {
        const FloatVec zero = hn::Zero(kFloats);
        FloatVec max[kVectors];
        FloatVec sum[kVectors];
        fold_columns(x + c, extent, stride, lanes, MaxFold(), max);
        store_exponentials(c, lanes, max, sum);
#pragma GCC unroll 4
        for (int v = 0; v < kVectors; ++v) {
            sum[v] = kLog ? log_of_lanes(sum[v]) : hn::Div(hn::Set(kFloats, 1.0F), sum[v]);
        }
        for (int64_t i = 0; i < extent; ++i) {
            const float* from = (kLog ? x : y) + c + i * stride;
#pragma GCC unroll 4
            for (int v = 0; v < kVectors; ++v) {
                const FloatVec value = load_column<kVectors>(from, v, lanes, zero);
                const FloatVec result =
                    kLog ? hn::Sub(hn::Sub(value, max[v]), sum[v]) : hn::Mul(value, sum[v]);
                store_column<kVectors>(result, y + c + i * stride, v, lanes);
            }
        }
    }

  private:
    // To each sum e^(x - max) from `offset` on, which stands in y afterwards, but for logarithms.
    template <int kVectors>
    HWY_INLINE void add_exponentials(int64_t offset,
                                     int64_t lanes,
                                     const FloatVec (&max)[kVectors],
                                     FloatVec (&sum)[kVectors]) const {
        const FloatVec zero = hn::Zero(kFloats);
#pragma GCC unroll 4
        for (int v = 0; v < kVectors; ++v) {
            const FloatVec value = load_column<kVectors>(x + offset, v, lanes, zero);
            const FloatVec e = exp_nonpositive(hn::Sub(value, max[v]));
            sum[v] = hn::Add(sum[v], e);
            if constexpr (!kLog) {
                store_column<kVectors>(e, y + offset, v, lanes);
            }
        }
    }

    // The sums of e^(x - max), which stand in y afterwards, but for logarithms.
    template <int kVectors>
    HWY_INLINE void store_exponentials(int64_t c,
                                       int64_t lanes,
                                       const FloatVec (&max)[kVectors],
                                       FloatVec (&sum)[kVectors]) const {
        const FloatVec zero = hn::Zero(kFloats);
        LongSum sums[kVectors];
        for (LongSum& total : sums) {
            total = LongSum::zero();
        }
        for (int64_t i = 0; i < extent;) {
            FloatVec chunk[kVectors];
            for (FloatVec& total : chunk) {
                total = zero;
            }
            for (const int64_t end = std::min(extent, i + kColumnChunk); i < end; ++i) {
                add_exponentials<kVectors>(c + i * stride, lanes, max, chunk);
            }
            for (int v = 0; v < kVectors; ++v) {
                sums[v].add(chunk[v]);
            }
        }
        for (int v = 0; v < kVectors; ++v) {
            sum[v] = sums[v].value();
        }
    }
};

template <bool kLog>
void softmax_blocks(const SplitParams& params, const KernelArgs& args, int64_t begin, int64_t end) {
    const AxisSplit& split = params.split;
    for (int64_t unit = begin; unit < end; ++unit) {
        const int64_t outer = unit / params.columns.count();
        const int64_t block = unit % params.columns.count();
        const int64_t base = outer * split.extent * split.inner;
        const SoftmaxColumns<kLog> columns{args.inputs[0].as<const float>() + base,
                                           args.outputs[0].as<float>() + base, split.extent,
                                           split.inner};
        for_each_column_group(params.columns.begin(block), params.columns.end(block), columns);
    }
}

}  // namespace

cpu::UnitFunction<SplitParams> select_softmax(bool logarithm, bool rows) {
    if (rows) {
        return logarithm ? softmax_rows<true> : softmax_rows<false>;
    }
    return logarithm ? softmax_blocks<true> : softmax_blocks<false>;
}

}  // namespace HWY_NAMESPACE
}  // namespace leat
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace leat {
namespace {

HWY_EXPORT(select_softmax);

Result<std::unique_ptr<cpu::CpuKernel>> make_softmax(cpu::PrepareContext& context) {
    const TensorArg& x = context.inputs[0];
    if (x.dtype != DType::kFloat32 || !x.is_row_major() || !context.outputs[0].is_row_major()) {
        return std::unique_ptr<cpu::CpuKernel>();
    }
    LEAT_ASSIGN_OR_RETURN(const AxisSplit split, AxisSplit::of(context.node, x.shape, -1));
    if (split.extent == 0) {
        return std::unique_ptr<cpu::CpuKernel>();
    }
    const cpu::SplitParams params(split);
    const bool rows = params.has_rows();
    const bool logarithm = context.node.op_type == "LogSoftmax";
    const int64_t units = params.unit_count();
    // Measured with AVX2 on data in L2: 0.5 ns an element, and 20 ns a row.
    const double total_ns = 0.5 * double(x.shape.element_count()) + 20.0 * double(units);
    return std::unique_ptr<cpu::CpuKernel>(std::make_unique<cpu::UnitKernel<cpu::SplitParams>>(
        rows ? "softmax_f32_rows" : "softmax_f32_columns",
        HWY_DYNAMIC_DISPATCH(select_softmax)(logarithm, rows), params, units, total_ns));
}

}  // namespace

std::span<const cpu::CpuKernelEntry> softmax_cpu_kernels() {
    static constexpr std::array<cpu::CpuKernelEntry, 2> kEntries{{
        {"Softmax", make_softmax},
        {"LogSoftmax", make_softmax},
    }};
    return kEntries;
}

}  // namespace leat
#endif  // HWY_ONCE
