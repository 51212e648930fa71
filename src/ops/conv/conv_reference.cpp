// Conv as plain loops: for each output plane, every tap of every channel adds a scaled, shifted
// input plane.
#include <algorithm>
#include <vector>

#include "ops/conv/conv.h"
#include "ops/element.h"
#include "ops/type_checks.h"

namespace leat {

namespace {

// Windows o in [0, outputs) with 0 <= o * stride + shift < extent.
IndexRange windows_inside(int64_t shift, int64_t stride, int64_t outputs, int64_t extent) {
    return taps_inside(shift, stride, outputs, extent);
}

// sums[w] += weight * row[w * stride + shift] for w in the range.
void add_row(const double* row,
             double weight,
             int64_t stride,
             int64_t shift,
             IndexRange range,
             double* sums) {
    if (stride == 1) {
        const double* shifted = row + (range.begin + shift);
        sums += range.begin;
        const int64_t count = range.count();
        for (int64_t w = 0; w < count; ++w) {
            sums[w] += weight * shifted[w];
        }
        return;
    }
    for (int64_t w = range.begin; w < range.end; ++w) {
        sums[w] += weight * row[w * stride + shift];
    }
}

// sums [d, h, w] += weight * x shifted by tap (td, th, tw).
void add_tap(
    const WindowGeometry& g, const double* x, double weight, const Extents& tap, double* sums) {
    Extents shift{};
    std::array<IndexRange, kMaxSpatialRank> range;
    for (size_t axis = 0; axis < shift.size(); ++axis) {
        shift[axis] = tap[axis] * g.dilation[axis] - g.pad_begin[axis];
        range[axis] = windows_inside(shift[axis], g.stride[axis], g.output[axis], g.input[axis]);
    }
    for (int64_t d = range[0].begin; d < range[0].end; ++d) {
        const int64_t in_plane = (d * g.stride[0] + shift[0]) * g.input[1];
        for (int64_t h = range[1].begin; h < range[1].end; ++h) {
            const double* row = x + (in_plane + h * g.stride[1] + shift[1]) * g.input[2];
            double* out = sums + (d * g.output[1] + h) * g.output[2];
            add_row(row, weight, g.stride[2], shift[2], range[2], out);
        }
    }
}

// All taps of one channel: scale * weights [kd, kh, kw].
template <class T>
void add_channel(
    const WindowGeometry& g, const double* x, const T* weights, double scale, double* sums) {
    Extents tap{};
    for (tap[0] = 0; tap[0] < g.kernel[0]; ++tap[0]) {
        for (tap[1] = 0; tap[1] < g.kernel[1]; ++tap[1]) {
            for (tap[2] = 0; tap[2] < g.kernel[2]; ++tap[2]) {
                add_tap(g, x, scale * widen(*weights++), tap, sums);
            }
        }
    }
}

template <class T>
Status run_conv(const ReferenceArgs& args) {
    const Shape& x_shape = args.inputs[0].shape;
    const Shape& w_shape = args.inputs[1].shape;
    LEAT_ASSIGN_OR_RETURN(const ConvGeometry conv,
                          ConvGeometry::make(args.node, x_shape, w_shape, args.outputs[0].shape));
    const bool has_bias = is_own_input(args.node, 2) && find_arg(args.inputs, 2) != nullptr;
    const T* bias = has_bias ? args.inputs[2].as<const T>() : nullptr;
    const int64_t in_plane = conv.window.input_count();
    const int64_t out_plane = conv.window.output_count();
    const int64_t taps = conv.window.kernel_count();
    const int64_t channels = conv.in_channels_per_group();
    // One image at a time, widened once: every output channel reads it again.
    std::vector<double> image(size_t(conv.in_channels * in_plane));
    std::vector<double> sums(static_cast<size_t>(out_plane));
    T* y = args.outputs[0].as<T>();
    const std::span<const float> scales = weight_scale(args.node);
    for (int64_t n = 0; n < conv.batch; ++n) {
        const T* x = args.inputs[0].as<const T>() + n * conv.in_channels * in_plane;
        std::transform(x, x + image.size(), image.begin(), widen<T>);
        for (int64_t o = 0; o < conv.out_channels; ++o) {
            const int64_t group = o / conv.out_channels_per_group();
            const double scale = scales.empty() ? 1 : double(scales[size_t(o)]);
            const T* weights = args.inputs[1].as<const T>() + o * channels * taps;
            std::fill(sums.begin(), sums.end(), bias != nullptr ? widen(bias[o]) : 0.0);
            for (int64_t c = 0; c < channels; ++c) {
                const double* plane = image.data() + (group * channels + c) * in_plane;
                add_channel(conv.window, plane, weights + c * taps, scale, sums.data());
            }
            y = std::transform(sums.begin(), sums.end(), y, narrow<T>);
        }
    }
    return {};
}

}  // namespace

Status conv_reference(const ReferenceArgs& args) {
    return dispatch_float(args.inputs[0].dtype, [&](auto element) {
        return run_conv<typename decltype(element)::type>(args);
    });
}

}  // namespace leat
