// Pooling in f32. Channels innermost: a vector of channels keeps its maximum or sum in a register
// over all taps. Row-major: a row of results over shifted rows of x. Global pooling reduces rows or
// columns.
#include <array>
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
#include "ops/rows-inl.h"

HWY_BEFORE_NAMESPACE();
namespace leat {
namespace HWY_NAMESPACE {
namespace {

using cpu::KernelArgs;
using cpu::PoolParams;

struct MaxOp {
    static constexpr float kInitial = -std::numeric_limits<float>::infinity();
    static constexpr bool kAverages = false;
    // A NaN in x is passed over.
    static HWY_INLINE FloatVec combine(FloatVec total, FloatVec x) { return hn::Max(x, total); }
    static HWY_INLINE float combine(float total, float x) { return x > total ? x : total; }
};
struct SumOp {
    static constexpr float kInitial = 0;
    static constexpr bool kAverages = true;
    static HWY_INLINE FloatVec combine(FloatVec total, FloatVec x) { return hn::Add(total, x); }
    static HWY_INLINE float combine(float total, float x) { return total + x; }
};

// The taps of one window inside x: a grid of counts, with strides in elements.
struct TapGrid {
    const float* origin;
    Extents count;
    Extents stride;
};

template <class Op>
struct OpFold {
    HWY_INLINE FloatVec initial() const { return hn::Set(kFloats, Op::kInitial); }
    HWY_INLINE FloatVec step(FloatVec total, FloatVec x, int /*v*/) const {
        return Op::combine(total, x);
    }
    HWY_INLINE FloatVec merge(FloatVec a, FloatVec b) const { return Op::combine(a, b); }
};

// Folds the taps of one row into the totals. `lanes` counts only where there is one vector.
template <class Op, int kVectors>
HWY_INLINE void add_tap_row(
    const float* x, int64_t count, int64_t stride, int64_t lanes, FloatVec (&total)[kVectors]) {
    const FloatVec initial = hn::Set(kFloats, Op::kInitial);
    for (int64_t w = 0; w < count; ++w, x += stride) {
#pragma GCC unroll 4
        for (int v = 0; v < kVectors; ++v) {
            total[v] = Op::combine(total[v], load_column<kVectors>(x, v, lanes, initial));
        }
    }
}

// One window; the columns are its channels.
template <class Op>
struct WindowColumns {
    const TapGrid& grid;
    float* y;
    float factor;  // of averages

    template <int kVectors>
    HWY_INLINE void run(int64_t c, int64_t lanes) const {
        FloatVec total[kVectors];
#pragma GCC unroll 4
        for (int v = 0; v < kVectors; ++v) {
            total[v] = hn::Set(kFloats, Op::kInitial);
        }
        for (int64_t d = 0; d < grid.count[0]; ++d) {
            for (int64_t h = 0; h < grid.count[1]; ++h) {
                const float* x = grid.origin + d * grid.stride[0] + h * grid.stride[1] + c;
                add_tap_row<Op>(x, grid.count[2], grid.stride[2], lanes, total);
            }
        }
#pragma GCC unroll 4
        for (int v = 0; v < kVectors; ++v) {
            const FloatVec result =
                Op::kAverages ? hn::Mul(total[v], hn::Set(kFloats, factor)) : total[v];
            store_column<kVectors>(result, y + c, v, lanes);
        }
    }
};

// Channels innermost; a unit is one output row (image, d, h).
template <class Op>
void pool_rows_channels_last(const PoolParams& params,
                             const KernelArgs& args,
                             int64_t begin,
                             int64_t end) {
    const PoolGeometry& pool = params.pool;
    const WindowGeometry& g = pool.window;
    const int64_t channels = pool.channels;
    const int64_t row_elements = g.input[2] * channels;
    const int64_t plane_elements = g.input[1] * row_elements;
    for (int64_t unit = begin; unit < end; ++unit) {
        const int64_t h = unit % g.output[1];
        const int64_t d = unit / g.output[1] % g.output[0];
        const int64_t image = unit / (g.output[1] * g.output[0]);
        const IndexRange deep = pool.taps(0, d);
        const IndexRange high = pool.taps(1, h);
        const auto row_divisor = float(pool.axis_divisor(0, d)) * float(pool.axis_divisor(1, h));
        const int64_t first_d = g.origin(0, d) + deep.begin * g.dilation[0];
        const int64_t first_h = g.origin(1, h) + high.begin * g.dilation[1];
        const float* row = args.inputs[0].as<const float>() +
                           (image * g.input[0] + first_d) * plane_elements + first_h * row_elements;
        float* y = args.outputs[0].as<float>() + unit * g.output[2] * channels;
        for (int64_t w = 0; w < g.output[2]; ++w, y += channels) {
            const IndexRange wide = params.columns[size_t(w)];
            const int64_t first_w = g.origin(2, w) + wide.begin * g.dilation[2];
            const TapGrid grid{row + first_w * channels,
                               {deep.count(), high.count(), wide.count()},
                               {g.dilation[0] * plane_elements, g.dilation[1] * row_elements,
                                g.dilation[2] * channels}};
            const float divisor = row_divisor * params.column_divisors[size_t(w)];
            for_each_column_group(0, channels, WindowColumns<Op>{grid, y, 1.0F / divisor});
        }
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

// One output row of a row-major plane x.
template <class Op>
void pool_row(const PoolParams& params, const float* x, int64_t d, int64_t h, float* y) {
    const WindowGeometry& g = params.pool.window;
    const IndexRange deep = params.pool.taps(0, d);
    const IndexRange high = params.pool.taps(1, h);
    std::fill_n(y, g.output[2], Op::kInitial);
    for (int64_t kd = deep.begin; kd < deep.end; ++kd) {
        for (int64_t kh = high.begin; kh < high.end; ++kh) {
            const int64_t in_d = g.origin(0, d) + kd * g.dilation[0];
            const int64_t in_h = g.origin(1, h) + kh * g.dilation[1];
            add_input_row<Op>(g, x + (in_d * g.input[1] + in_h) * g.input[2], y);
        }
    }
    if constexpr (Op::kAverages) {
        const auto row_divisor =
            float(params.pool.axis_divisor(0, d)) * float(params.pool.axis_divisor(1, h));
        for (int64_t w = 0; w < g.output[2]; ++w) {
            y[w] /= row_divisor * params.column_divisors[size_t(w)];
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
        for (int64_t d = 0; d < g.output[0]; ++d) {
            for (int64_t h = 0; h < g.output[1]; ++h, y += g.output[2]) {
                pool_row<Op>(params, x, d, h, y);
            }
        }
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
        const FloatVec count = hn::Set(kFloats, float(positions));
        FloatVec total[kVectors];
        fold_columns(x + c, positions, stride, lanes, OpFold<Op>(), total);
#pragma GCC unroll 4
        for (int v = 0; v < kVectors; ++v) {
            const FloatVec result = Op::kAverages ? hn::Div(total[v], count) : total[v];
            store_column<kVectors>(result, y + c, v, lanes);
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
    return hn::GetLane(hn::MaxOfLanes(kFloats, total));
}

// Global, row-major; a unit is one plane.
template <class Op>
void global_planes(const PoolParams& params, const KernelArgs& args, int64_t begin, int64_t end) {
    const int64_t n = params.pool.window.input[2];
    for (int64_t plane = begin; plane < end; ++plane) {
        const float* x = args.inputs[0].as<const float>() + plane * n;
        args.outputs[0].as<float>()[plane] =
            Op::kAverages ? sum_terms(x, n, SameTerm()) / float(n) : row_max(x, n);
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

// With channels innermost, and row-major.
ByteRange read_by_rows(const cpu::PoolParams& params, int64_t begin, int64_t end) {
    const WindowGeometry& g = params.pool.window;
    const int64_t position_bytes = params.pool.channels * int64_t{sizeof(float)};
    const IndexRange read = g.positions_read({begin * g.output[2], end * g.output[2]});
    return {read.begin * position_bytes, read.end * position_bytes};
}
ByteRange read_by_planes(const cpu::PoolParams& params, int64_t begin, int64_t end) {
    const int64_t plane_bytes = params.pool.window.input_count() * int64_t{sizeof(float)};
    return {begin * plane_bytes, end * plane_bytes};
}

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
    cpu::UnitBytes<cpu::PoolParams> bytes;
    if (!global) {
        const int64_t results = by_channels ? g.output[2] * pool.channels : g.output_count();
        bytes.output = results * int64_t{sizeof(float)};
        bytes.read = by_channels ? read_by_rows : read_by_planes;
    }
    const double taps = double(y.shape.element_count()) * double(g.kernel_count());
    std::string_view name = by_channels ? "pool_f32_channels_last" : "pool_f32";
    if (global) {
        name = by_channels ? "global_pool_f32_channels_last" : "global_pool_f32";
    }
    return std::unique_ptr<cpu::CpuKernel>(std::make_unique<cpu::UnitKernel<cpu::PoolParams>>(
        name, HWY_DYNAMIC_DISPATCH(select_pool)(pool.kind, global, by_channels), std::move(params),
        units, kNsPerTap * taps * (by_channels ? 1 : 4), bytes));
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
