// Pooling in f32. Channels innermost: a vector of channels keeps its maximum or sum in a register
// over all taps. Row-major: a row of results over shifted rows of x. Global pooling reduces rows or
// columns.
#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include "backends/cpu/unit_kernel.h"
#include "ops/pool/pool.h"

#ifndef LEAT_POOL_PARAMS
#define LEAT_POOL_PARAMS
namespace leat::cpu {
struct PoolParams {
    PoolGeometry pool;
    std::vector<IndexRange> columns;     // taps inside the input, by output column
    std::vector<float> column_divisors;  // what an average divides by, but for the other axes
    Blocks channels;                     // of global pooling with channels innermost
};
}  // namespace leat::cpu
#endif

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/pool/pool_cpu.cpp"
#include "backends/cpu/simd.h"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"
#include "ops/pool/windows-inl.h"
#include "ops/rows-inl.h"

HWY_BEFORE_NAMESPACE();
namespace leat {
namespace HWY_NAMESPACE {
namespace {

using cpu::KernelArgs;
using cpu::PoolParams;

// One window; the columns are its channels.
template <class Op>
struct WindowColumns {
    const TapGrid& grid;
    float* y;
    float divisor;  // of averages
    float factor;   // 1 / divisor

    template <int kVectors>
    HWY_INLINE void run(int64_t c, int64_t lanes) const {
        FloatVec total[kVectors];
        if constexpr (Op::kSums) {
            sum_of_window(grid, c, lanes, total);
#pragma GCC unroll 4
            for (int v = 0; v < kVectors; ++v) {
                total[v] = hn::Mul(total[v], hn::Set(kFloats, factor));
            }
            store_averages(
                total, double(divisor), lanes,
                [&](int64_t column) { return grid.sum_in_double(c + column); }, y + c);
        } else {
            max_of_window<Op>(grid, c, lanes, total);
#pragma GCC unroll 4
            for (int v = 0; v < kVectors; ++v) {
                store_column<kVectors>(total[v], y + c, v, lanes);
            }
        }
    }
};

// Elements of a row of x, channels innermost, that windows read: the first one and their number.
IndexRange elements_read(const PoolParams& params) {
    const WindowGeometry& g = params.pool.window;
    IndexRange read{g.input[2], 0};
    for (int64_t w = 0; w < g.output[2]; ++w) {
        const IndexRange taps = params.columns[size_t(w)];
        if (taps.count() > 0) {
            read.begin = std::min(read.begin, g.origin(2, w) + taps.begin * g.dilation[2]);
            read.end = std::max(read.end, g.origin(2, w) + (taps.end - 1) * g.dilation[2] + 1);
        }
    }
    return {read.begin * params.pool.channels, read.end * params.pool.channels};
}

// A row of results. `grid`: the taps of its windows, of which those along the row are to be set.
template <class Op>
HWY_INLINE void pool_row_channels_last(
    const PoolParams& params, TapGrid grid, const float* row, float row_divisor, float* y) {
    const WindowGeometry& g = params.pool.window;
    const int64_t channels = params.pool.channels;
    for (int64_t w = 0; w < g.output[2]; ++w, y += channels) {
        const IndexRange wide = params.columns[size_t(w)];
        grid.origin = row + (g.origin(2, w) + wide.begin * g.dilation[2]) * channels;
        grid.count[2] = wide.count();
        const float divisor = row_divisor * params.column_divisors[size_t(w)];
        for_each_column_group(0, channels, WindowColumns<Op>{grid, y, divisor, 1.0F / divisor});
    }
}

// Channels innermost; a unit is one output row (image, d, h).
template <class Op>
void pool_rows_channels_last(const PoolParams& params,
                             const KernelArgs& args,
                             int64_t begin,
                             int64_t end) {
    const PoolGeometry& pool = params.pool;
    const WindowGeometry& g = pool.window;
    const int64_t row_elements = g.input[2] * pool.channels;
    const float* x = args.inputs[0].as<const float>();
    const IndexRange read = elements_read(params);
    NanRows nan_rows(x, read.begin, read.count(), row_elements);
    for (int64_t unit = begin; unit < end; ++unit) {
        const int64_t h = unit % g.output[1];
        const int64_t d = unit / g.output[1] % g.output[0];
        const int64_t image = unit / (g.output[1] * g.output[0]);
        const IndexRange deep = pool.taps(0, d);
        const IndexRange high = pool.taps(1, h);
        const auto row_divisor = float(pool.axis_divisor(0, d)) * float(pool.axis_divisor(1, h));
        const int64_t first_d = g.origin(0, d) + deep.begin * g.dilation[0];
        const int64_t first_h = g.origin(1, h) + high.begin * g.dilation[1];
        const int64_t first_row = (image * g.input[0] + first_d) * g.input[1] + first_h;
        const float* row = x + first_row * row_elements;
        float* y = args.outputs[0].as<float>() + unit * g.output[2] * pool.channels;
        const TapGrid grid{row,
                           {deep.count(), high.count(), 0},
                           {g.dilation[0] * g.input[1] * row_elements, g.dilation[1] * row_elements,
                            g.dilation[2] * pool.channels}};
        if constexpr (!Op::kSums) {
            const bool is_empty = deep.count() == 0 || high.count() == 0;
            const int64_t last_row = first_row + (deep.count() - 1) * g.dilation[0] * g.input[1] +
                                     (high.count() - 1) * g.dilation[1];
            if (is_empty || !nan_rows.may_be_in(first_row, last_row + 1)) {
                pool_row_channels_last<MaxOfNumbersOp>(params, grid, row, row_divisor, y);
                continue;
            }
        }
        pool_row_channels_last<Op>(params, grid, row, row_divisor, y);
    }
}

// y[w] = combine(y[w], x[w * stride]) over a row.
template <class Op>
HWY_INLINE void combine_row(const float* HWY_RESTRICT x,
                            float* HWY_RESTRICT y,
                            int64_t n,
                            int64_t stride) {
    if (stride == 1) {
        for (int64_t w = 0; w < n; ++w) {
            y[w] = Op::combine(y[w], x[w]);
        }
        return;
    }
    for (int64_t w = 0; w < n; ++w) {
        y[w] = Op::combine(y[w], x[w * stride]);
    }
}

// Folds all taps in one row of x into a row of results.
template <class Op>
HWY_INLINE void add_input_row(const WindowGeometry& g, const float* row, float* y) {
    for (int64_t kw = 0; kw < g.kernel[2]; ++kw) {
        const int64_t shift = g.origin(2, 0) + kw * g.dilation[2];
        const IndexRange inside = taps_inside(shift, g.stride[2], g.output[2], g.input[2]);
        if (inside.count() > 0) {
            const float* first = row + (inside.begin * g.stride[2] + shift);
            combine_row<Op>(first, y + inside.begin, inside.count(), g.stride[2]);
        }
    }
}

// The average of a window of rows of x, in which taps of a row follow each other or not.
HWY_INLINE float average_of_grid(const TapGrid& grid, double divisor) {
    double total = 0;
    grid.for_each_row([&](const float* x, int64_t n, int64_t stride) HWY_ATTR {
        total +=
            stride == 1 ? sum_terms(x, n, SameTerm()) : sum_in_double(x, n, stride, SameTerm());
    });
    return float((std::isfinite(total) ? total : grid.sum_in_double(0)) / divisor);
}

// The taps of window (d, h, w) of a row-major plane x.
TapGrid grid_of(const PoolParams& params, const float* x, int64_t d, int64_t h, int64_t w) {
    const WindowGeometry& g = params.pool.window;
    const IndexRange deep = params.pool.taps(0, d);
    const IndexRange high = params.pool.taps(1, h);
    const IndexRange wide = params.columns[size_t(w)];
    const int64_t first_d = g.origin(0, d) + deep.begin * g.dilation[0];
    const int64_t first_h = g.origin(1, h) + high.begin * g.dilation[1];
    const int64_t first_w = g.origin(2, w) + wide.begin * g.dilation[2];
    return {x + (first_d * g.input[1] + first_h) * g.input[2] + first_w,
            {deep.count(), high.count(), wide.count()},
            {g.dilation[0] * g.input[1] * g.input[2], g.dilation[1] * g.input[2], g.dilation[2]}};
}

// Sums of a row of windows become averages. Sums of large windows, and those that floats do not
// hold, are computed by average_of_grid.
void finish_averages(const PoolParams& params, const float* x, int64_t d, int64_t h, float* y) {
    const WindowGeometry& g = params.pool.window;
    const auto row_divisor =
        float(params.pool.axis_divisor(0, d)) * float(params.pool.axis_divisor(1, h));
    const bool is_large = g.kernel_count() > kColumnChunk;
    const float* divisors = params.column_divisors.data();
    for (int64_t w = 0; w < g.output[2]; ++w) {
        y[w] /= row_divisor * divisors[w];
    }
    if (!is_large && all_are_finite(y, g.output[2])) {
        return;
    }
    for (int64_t w = 0; w < g.output[2]; ++w) {
        if (is_large || !std::isfinite(y[w])) {
            const double divisor = double(row_divisor) * double(divisors[w]);
            y[w] = average_of_grid(grid_of(params, x, d, h, w), divisor);
        }
    }
}

// One output row of a row-major plane x.
template <class Op>
void pool_row(const PoolParams& params, const float* x, int64_t d, int64_t h, float* y) {
    const WindowGeometry& g = params.pool.window;
    const IndexRange deep = params.pool.taps(0, d);
    const IndexRange high = params.pool.taps(1, h);
    const bool is_summed_later = Op::kSums && g.kernel_count() > kColumnChunk;
    std::fill_n(y, g.output[2], Op::kInitial);
    for (int64_t kd = deep.begin; !is_summed_later && kd < deep.end; ++kd) {
        for (int64_t kh = high.begin; kh < high.end; ++kh) {
            const int64_t in_d = g.origin(0, d) + kd * g.dilation[0];
            const int64_t in_h = g.origin(1, h) + kh * g.dilation[1];
            add_input_row<Op>(g, x + (in_d * g.input[1] + in_h) * g.input[2], y);
        }
    }
    if constexpr (Op::kSums) {
        finish_averages(params, x, d, h, y);
    }
}

template <class Op>
void pool_plane(const PoolParams& params, const float* x, float* y) {
    const WindowGeometry& g = params.pool.window;
    for (int64_t d = 0; d < g.output[0]; ++d) {
        for (int64_t h = 0; h < g.output[1]; ++h, y += g.output[2]) {
            pool_row<Op>(params, x, d, h, y);
        }
    }
}

// Row-major; a unit is one plane (image, channel).
template <class Op>
void pool_planes(const PoolParams& params, const KernelArgs& args, int64_t begin, int64_t end) {
    const WindowGeometry& g = params.pool.window;
    for (int64_t plane = begin; plane < end; ++plane) {
        const float* x = args.inputs[0].as<const float>() + plane * g.input_count();
        float* y = args.outputs[0].as<float>() + plane * g.output_count();
        if constexpr (!Op::kSums) {
            // The sum of a plane is NaN where an element is, or where infinities have both signs.
            if (!std::isnan(sum_terms(x, g.input_count(), SameTerm()))) {
                pool_plane<MaxOfNumbersOp>(params, x, y);
                continue;
            }
        }
        pool_plane<Op>(params, x, y);
    }
}

// One image, channels innermost.
template <class Op>
struct ImageColumns {
    const float* x;
    float* y;
    int64_t positions;
    int64_t stride;

    template <int kVectors>
    HWY_INLINE void run(int64_t c, int64_t lanes) const {
        FloatVec total[kVectors];
        fold_columns(x + c, positions, stride, lanes, OpFold<Op>(), total);
        if constexpr (Op::kSums) {
            const FloatVec count = hn::Set(kFloats, float(positions));
#pragma GCC unroll 4
            for (int v = 0; v < kVectors; ++v) {
                total[v] = hn::Div(total[v], count);
            }
            store_averages(
                total, double(positions), lanes,
                [&](int64_t column) {
                    return sum_in_double(x + c + column, positions, stride, SameTerm());
                },
                y + c);
        } else {
#pragma GCC unroll 4
            for (int v = 0; v < kVectors; ++v) {
                store_column<kVectors>(total[v], y + c, v, lanes);
            }
        }
    }
};

// Global, channels innermost; a unit is a block of channels of one image.
template <class Op>
void global_channels_last(const PoolParams& params,
                          const KernelArgs& args,
                          int64_t begin,
                          int64_t end) {
    const int64_t positions = params.pool.window.input[2];
    const int64_t channels = params.channels.extent;
    for (int64_t unit = begin; unit < end; ++unit) {
        const int64_t image = unit / params.channels.count();
        const int64_t block = unit % params.channels.count();
        const ImageColumns<Op> columns{
            args.inputs[0].as<const float>() + image * positions * channels,
            args.outputs[0].as<float>() + image * channels, positions, channels};
        for_each_column_group(params.channels.begin(block), params.channels.end(block), columns);
    }
}

float row_max(const float* x, int64_t n) {
    const FloatVec initial = hn::Set(kFloats, MaxOp::kInitial);
    FloatVec total = initial;
    for (int64_t i = 0; i < n; i += kFloatLanes) {
        total = MaxOp::combine(total, load_up_to(x + i, n - i, initial));
    }
    return hn::AllFalse(kFloats, hn::IsNaN(total)) ? hn::GetLane(hn::MaxOfLanes(kFloats, total))
                                                   : std::numeric_limits<float>::quiet_NaN();
}

// Global, row-major; a unit is one plane.
template <class Op>
void global_planes(const PoolParams& params, const KernelArgs& args, int64_t begin, int64_t end) {
    const int64_t n = params.pool.window.input[2];
    for (int64_t plane = begin; plane < end; ++plane) {
        const float* x = args.inputs[0].as<const float>() + plane * n;
        args.outputs[0].as<float>()[plane] = Op::kSums ? mean_of_row(x, n) : row_max(x, n);
    }
}

template <class Op>
cpu::UnitFunction<PoolParams> select(bool global, bool channels_last) {
    if (global) {
        return channels_last ? global_channels_last<Op> : global_planes<Op>;
    }
    return channels_last ? pool_rows_channels_last<Op> : pool_planes<Op>;
}

}  // namespace

cpu::UnitFunction<PoolParams> select_pool(PoolKind kind, bool global, bool channels_last) {
    return kind == PoolKind::kMax ? select<MaxOp>(global, channels_last)
                                  : select<SumOp>(global, channels_last);
}

}  // namespace HWY_NAMESPACE
}  // namespace leat
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace leat {
namespace {

HWY_EXPORT(select_pool);

constexpr double kNsPerTap = 0.08;  // measured with AVX2 on data in L2

bool is_covered(const cpu::PrepareContext& context) {
    // Indices of maxima are rare; the reference kernel finds them.
    const bool has_indices = find_arg(context.outputs, 1) != nullptr;
    return context.inputs[0].dtype == DType::kFloat32 && !has_indices;
}

Result<std::unique_ptr<cpu::CpuKernel>> make_pool(cpu::PrepareContext& context) {
    const TensorArg& x = context.inputs[0];
    const TensorArg& y = context.outputs[0];
    const bool row_major = x.is_row_major() && y.is_row_major();
    const bool channels_last = cpu::is_channels_last(x) && cpu::is_channels_last(y);
    if (!is_covered(context) || (!row_major && !channels_last)) {
        return std::unique_ptr<cpu::CpuKernel>();
    }
    cpu::PoolParams params;
    LEAT_ASSIGN_OR_RETURN(params.pool, PoolGeometry::make(context.node, x.shape, y.shape));
    const PoolGeometry& pool = params.pool;
    const WindowGeometry& g = pool.window;
    const bool global = context.node.op_type.rfind("Global", 0) == 0;
    for (int64_t w = 0; !global && w < g.output[2]; ++w) {
        params.columns.push_back(pool.taps(2, w));
        params.column_divisors.push_back(float(pool.axis_divisor(2, w)));
    }
    params.channels = {pool.channels, 64};
    const bool by_channels = channels_last && !row_major;
    int64_t units = pool.batch * pool.channels;
    if (by_channels) {
        units = pool.batch * (global ? params.channels.count() : g.output[0] * g.output[1]);
    }
    const double taps = double(y.shape.element_count()) * double(g.kernel_count());
    std::string_view name = by_channels ? "pool_f32_channels_last" : "pool_f32";
    if (global) {
        name = by_channels ? "global_pool_f32_channels_last" : "global_pool_f32";
    }
    return std::unique_ptr<cpu::CpuKernel>(std::make_unique<cpu::UnitKernel<cpu::PoolParams>>(
        name, HWY_DYNAMIC_DISPATCH(select_pool)(pool.kind, global, by_channels), std::move(params),
        units, kNsPerTap * taps * (by_channels ? 1 : 4)));
}

}  // namespace

std::span<const cpu::CpuKernelEntry> pool_cpu_kernels() {
    static constexpr std::array<cpu::CpuKernelEntry, 4> kEntries{{
        {"MaxPool", make_pool},
        {"AveragePool", make_pool},
        {"GlobalMaxPool", make_pool},
        {"GlobalAveragePool", make_pool},
    }};
    return kEntries;
}

}  // namespace leat
#endif  // HWY_ONCE
