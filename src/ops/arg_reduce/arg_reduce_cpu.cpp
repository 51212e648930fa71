// ArgMax and ArgMin of f32: rows of the last axis, or columns of an inner axis in vectors.
#include <array>
#include <cmath>
#include <limits>

#include "backends/cpu/unit_kernel.h"
#include "ops/arg_reduce/arg_reduce.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/arg_reduce/arg_reduce_cpu.cpp"
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
using Ints = hn::RebindToSigned<Floats>;
using IntVec = hn::Vec<Ints>;
constexpr Ints kInts;

// Lanes of the best value so far and where it was. Values start at the worst. NaNs are passed over;
// the sum of all values, which costs less than looking at each, is NaN where there was one.
template <bool kMax, bool kLast>
struct Best {
    static constexpr float kWorst =
        kMax ? -std::numeric_limits<float>::infinity() : std::numeric_limits<float>::infinity();
    FloatVec value;
    IntVec index;
    FloatVec sum;

    static HWY_INLINE Best none() {
        return {hn::Set(kFloats, kWorst), hn::Zero(kInts), hn::Zero(kFloats)};
    }

    HWY_INLINE void offer(FloatVec x, IntVec at) {
        const auto better = wins(x, value);
        value = hn::IfThenElse(better, x, value);
        index = hn::IfThenElse(hn::RebindMask(kInts, better), at, index);
        sum = hn::Add(sum, x);
    }
    // False also where infinities of both signs were offered.
    HWY_INLINE bool saw_numbers() const { return hn::AllFalse(kFloats, hn::IsNaN(sum)); }
    static HWY_INLINE hn::Mask<Floats> wins(FloatVec x, FloatVec over) {
        if constexpr (kMax) {
            return kLast ? hn::Ge(x, over) : hn::Gt(x, over);
        } else {
            return kLast ? hn::Le(x, over) : hn::Lt(x, over);
        }
    }
};

// Of elements `stride` apart; a NaN wins over every number.
template <bool kMax, bool kLast>
int64_t best_with_nan(const float* x, int64_t n, int64_t stride) {
    int64_t best = 0;
    for (int64_t i = 1; i < n; ++i) {
        const float value = x[i * stride];
        const float over = x[best * stride];
        const bool is_better = kMax ? value > over : value < over;
        const bool is_equal = value == over || (std::isnan(value) && std::isnan(over));
        if (is_better || (std::isnan(value) && !std::isnan(over)) || (kLast && is_equal)) {
            best = i;
        }
    }
    return best;
}

template <bool kMax, bool kLast>
int64_t best_of_row(const float* x, int64_t n) {
    auto best = Best<kMax, kLast>::none();
    IntVec at = hn::Iota(kInts, 0);
    const IntVec step = hn::Set(kInts, int32_t(kFloatLanes));
    int64_t i = 0;
    for (; i + kFloatLanes <= n; i += kFloatLanes) {
        best.offer(hn::LoadU(kFloats, x + i), at);
        at = hn::Add(at, step);
    }
    HWY_ALIGN float values[hn::MaxLanes(kFloats)];
    HWY_ALIGN int32_t indices[hn::MaxLanes(kInts)];
    hn::Store(best.value, kFloats, values);
    hn::Store(best.index, kInts, indices);
    float value = values[0];
    int64_t index = indices[0];
    for (int64_t lane = 1; lane < kFloatLanes; ++lane) {
        const bool better = kMax ? values[lane] > value : values[lane] < value;
        const bool tie = values[lane] == value;
        const bool earlier = kLast ? indices[lane] > index : indices[lane] < index;
        if (better || (tie && earlier)) {
            value = values[lane];
            index = indices[lane];
        }
    }
    bool has_nan = !best.saw_numbers();
    for (; i < n; ++i) {
        const bool better = kMax ? x[i] > value : x[i] < value;
        if (better || (kLast && x[i] == value)) {
            value = x[i];
            index = i;
        }
        has_nan |= std::isnan(x[i]);
    }
    return has_nan ? best_with_nan<kMax, kLast>(x, n, 1) : index;
}

template <bool kMax, bool kLast>
void arg_reduce_rows(const SplitParams& params,
                     const KernelArgs& args,
                     int64_t begin,
                     int64_t end) {
    const int64_t n = params.split.extent;
    for (int64_t row = begin; row < end; ++row) {
        const float* x = args.inputs[0].as<const float>() + row * n;
        args.outputs[0].as<int64_t>()[row] = best_of_row<kMax, kLast>(x, n);
    }
}

template <bool kMax, bool kLast>
void arg_reduce_blocks(const SplitParams& params,
                       const KernelArgs& args,
                       int64_t begin,
                       int64_t end) {
    const AxisSplit& split = params.split;
    HWY_ALIGN int32_t indices[hn::MaxLanes(kInts)];
    for (int64_t unit = begin; unit < end; ++unit) {
        const int64_t outer = unit / params.columns.count();
        const int64_t block = unit % params.columns.count();
        const float* x = args.inputs[0].as<const float>() + outer * split.extent * split.inner;
        auto* y = args.outputs[0].as<int64_t>() + outer * split.inner;
        const int64_t last = params.columns.end(block);
        for (int64_t c = params.columns.begin(block); c < last; c += kFloatLanes) {
            const int64_t lanes = std::min(kFloatLanes, last - c);
            auto best = Best<kMax, kLast>::none();
            for (int64_t i = 0; i < split.extent; ++i) {
                best.offer(load_up_to(x + i * split.inner + c, lanes), hn::Set(kInts, int32_t(i)));
            }
            hn::Store(best.index, kInts, indices);
            std::copy_n(indices, lanes, y + c);
            for (int64_t lane = 0; !best.saw_numbers() && lane < lanes; ++lane) {
                y[c + lane] = best_with_nan<kMax, kLast>(x + c + lane, split.extent, split.inner);
            }
        }
    }
}

template <bool kMax, bool kLast>
cpu::UnitFunction<SplitParams> select(bool rows) {
    return rows ? arg_reduce_rows<kMax, kLast> : arg_reduce_blocks<kMax, kLast>;
}

}  // namespace

cpu::UnitFunction<SplitParams> select_arg_reduce(bool max, bool last, bool rows) {
    if (max) {
        return last ? select<true, true>(rows) : select<true, false>(rows);
    }
    return last ? select<false, true>(rows) : select<false, false>(rows);
}

}  // namespace HWY_NAMESPACE
}  // namespace leat
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace leat {
namespace {

HWY_EXPORT(select_arg_reduce);

Result<std::unique_ptr<cpu::CpuKernel>> make_arg_reduce(cpu::PrepareContext& context) {
    const TensorArg& x = context.inputs[0];
    LEAT_ASSIGN_OR_RETURN(const AxisSplit split, AxisSplit::of(context.node, x.shape, 0));
    // Indices are 32-bit lanes.
    if (x.dtype != DType::kFloat32 || !x.is_row_major() || split.extent > INT32_MAX) {
        return std::unique_ptr<cpu::CpuKernel>();
    }
    const cpu::SplitParams params(split);
    const bool rows = params.has_rows();
    const bool max = context.node.op_type == "ArgMax";
    const bool last = context.node.attr("select_last_index", int64_t{0}) != 0;
    const int64_t units = params.unit_count();
    // Measured with AVX2 on data in L2.
    const double total_ns = 0.2 * double(x.shape.element_count()) + 20.0 * double(units);
    return std::unique_ptr<cpu::CpuKernel>(std::make_unique<cpu::UnitKernel<cpu::SplitParams>>(
        rows ? "arg_reduce_f32_rows" : "arg_reduce_f32_columns",
        HWY_DYNAMIC_DISPATCH(select_arg_reduce)(max, last, rows), params, units, total_ns));
}

}  // namespace

std::span<const cpu::CpuKernelEntry> arg_reduce_cpu_kernels() {
    static constexpr std::array<cpu::CpuKernelEntry, 2> kEntries{{
        {"ArgMax", make_arg_reduce},
        {"ArgMin", make_arg_reduce},
    }};
    return kEntries;
}

}  // namespace leat
#endif  // HWY_ONCE
