// Pooling as plain loops over images, channels, windows and taps.
#include <cmath>

#include "ops/element.h"
#include "ops/pool/pool.h"

namespace leat {

namespace {

// The part of the input that one window covers: taps inside it along each axis.
struct WindowTaps {
    std::array<IndexRange, kMaxSpatialRank> range;
    Extents origin{};

    WindowTaps(const PoolGeometry& pool, const Extents& position) {
        for (int axis = 0; axis < kMaxSpatialRank; ++axis) {
            const auto a = size_t(axis);
            range[a] = pool.taps(axis, position[a]);
            origin[a] = pool.window.origin(axis, position[a]);
        }
    }
};

// f(d, h, w) for every input position under the window.
template <class F>
void visit(const WindowGeometry& g, const WindowTaps& taps, F&& f) {
    for (int64_t d = taps.range[0].begin; d < taps.range[0].end; ++d) {
        for (int64_t h = taps.range[1].begin; h < taps.range[1].end; ++h) {
            for (int64_t w = taps.range[2].begin; w < taps.range[2].end; ++w) {
                f(taps.origin[0] + d * g.dilation[0], taps.origin[1] + h * g.dilation[1],
                  taps.origin[2] + w * g.dilation[2]);
            }
        }
    }
}

// f(position) for every window, in row-major order.
template <class F>
void visit_windows(const WindowGeometry& g, F&& f) {
    Extents o{};
    for (o[0] = 0; o[0] < g.output[0]; ++o[0]) {
        for (o[1] = 0; o[1] < g.output[1]; ++o[1]) {
            for (o[2] = 0; o[2] < g.output[2]; ++o[2]) {
                f(o);
            }
        }
    }
}

template <class T>
struct Maximum {
    T value = type_limit<T>(true);
    int64_t index = -1;  // within the plane, counted by `strides`
};
template <class T>
Maximum<T> max_of_window(const PoolGeometry& pool,
                         const T* x,
                         const Extents& position,
                         const Extents& strides) {
    const WindowGeometry& g = pool.window;
    Maximum<T> best;
    visit(g, WindowTaps(pool, position), [&](int64_t d, int64_t h, int64_t w) {
        const T value = x[(d * g.input[1] + h) * g.input[2] + w];
        if (best.index < 0 || exceeds(comparable(value), comparable(best.value))) {
            best = {value, d * strides[0] + h * strides[1] + w * strides[2]};
        }
    });
    return best;
}

template <class T>
Status run_max(const ReferenceArgs& args, const PoolGeometry& pool) {
    const WindowGeometry& g = pool.window;
    const TensorArg* index_output = find_arg(args.outputs, 1);
    const bool column_major = args.node.attr("storage_order", int64_t{0}) != 0;
    const Extents strides = column_major ? Extents{1, g.input[0], g.input[0] * g.input[1]}
                                         : Extents{g.input[1] * g.input[2], g.input[2], 1};
    T* y = args.outputs[0].as<T>();
    auto* indices = index_output != nullptr ? index_output->as<int64_t>() : nullptr;
    for (int64_t plane = 0; plane < pool.batch * pool.channels; ++plane) {
        const int64_t base = plane * g.input_count();
        const T* x = args.inputs[0].as<const T>() + base;
        visit_windows(g, [&](const Extents& position) {
            const Maximum<T> best = max_of_window(pool, x, position, strides);
            *y++ = best.value;
            if (indices != nullptr) {
                *indices++ = best.index < 0 ? -1 : base + best.index;
            }
        });
    }
    return {};
}

template <class T>
Status run_average(const ReferenceArgs& args, const PoolGeometry& pool) {
    const WindowGeometry& g = pool.window;
    T* y = args.outputs[0].as<T>();
    for (int64_t plane = 0; plane < pool.batch * pool.channels; ++plane) {
        const T* x = args.inputs[0].as<const T>() + plane * g.input_count();
        visit_windows(g, [&](const Extents& position) {
            double sum = 0;
            visit(g, WindowTaps(pool, position), [&](int64_t d, int64_t h, int64_t w) {
                sum += widen(x[(d * g.input[1] + h) * g.input[2] + w]);
            });
            int64_t divisor = 1;
            for (int axis = 0; axis < kMaxSpatialRank; ++axis) {
                divisor *= pool.axis_divisor(axis, position[size_t(axis)]);
            }
            *y++ = narrow<T>(sum / double(divisor));
        });
    }
    return {};
}

// Elements of a window one after the other: their norm, without what |x|^p has beyond double.
template <class T>
double norm_of_window(const PoolGeometry& pool, const T* x, const WindowTaps& taps) {
    const WindowGeometry& g = pool.window;
    double largest = 0;
    visit(g, taps, [&](int64_t d, int64_t h, int64_t w) {
        const double value = std::fabs(widen(x[(d * g.input[1] + h) * g.input[2] + w]));
        largest = exceeds(value, largest) ? value : largest;
    });
    if (!(largest > 0 && std::isfinite(largest))) {
        return largest;
    }
    double sum = 0;
    visit(g, taps, [&](int64_t d, int64_t h, int64_t w) {
        const double part = std::fabs(widen(x[(d * g.input[1] + h) * g.input[2] + w])) / largest;
        if (pool.p == 1 || pool.p == 2) {
            sum += pool.p == 1 ? part : part * part;
        } else {
            sum += std::pow(part, pool.p);
        }
    });
    return largest * (pool.p == 2 ? std::sqrt(sum) : std::pow(sum, 1 / pool.p));
}

template <class T>
Status run_norm(const ReferenceArgs& args, const PoolGeometry& pool) {
    const WindowGeometry& g = pool.window;
    T* y = args.outputs[0].as<T>();
    for (int64_t plane = 0; plane < pool.batch * pool.channels; ++plane) {
        const T* x = args.inputs[0].as<const T>() + plane * g.input_count();
        visit_windows(g, [&](const Extents& position) {
            *y++ = narrow<T>(norm_of_window(pool, x, WindowTaps(pool, position)));
        });
    }
    return {};
}

}  // namespace

Status pool_reference(const ReferenceArgs& args) {
    LEAT_ASSIGN_OR_RETURN(
        const PoolGeometry pool,
        PoolGeometry::make(args.node, args.inputs[0].shape, args.outputs[0].shape));
    const DType dtype = args.inputs[0].dtype;
    if (pool.kind == PoolKind::kAverage) {
        return dispatch_float(dtype, [&](auto element) {
            return run_average<typename decltype(element)::type>(args, pool);
        });
    }
    if (pool.kind == PoolKind::kNorm) {
        return dispatch_float(dtype, [&](auto element) {
            return run_norm<typename decltype(element)::type>(args, pool);
        });
    }
    return dispatch_number(
        dtype, [&](auto element) { return run_max<typename decltype(element)::type>(args, pool); });
}

}  // namespace leat
