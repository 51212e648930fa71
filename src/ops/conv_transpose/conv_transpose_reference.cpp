// For each output plane, every tap of every channel adds a scaled input plane, spread by the
// strides.
#include <algorithm>
#include <array>
#include <vector>

#include "ops/conv_transpose/conv_transpose.h"
#include "ops/element.h"

namespace leat {
namespace {

// sums[i stride + t dilation - pad] += weight * x[i], for the tap t.
void spread_tap(
    const WindowGeometry& g, const double* x, double weight, const Extents& tap, double* sums) {
    Extents shift{};
    std::array<IndexRange, kMaxSpatialRank> range;
    for (size_t axis = 0; axis < shift.size(); ++axis) {
        shift[axis] = tap[axis] * g.dilation[axis] - g.pad_begin[axis];
        range[axis] = taps_inside(shift[axis], g.stride[axis], g.output[axis], g.input[axis]);
    }
    for (int64_t d = range[0].begin; d < range[0].end; ++d) {
        const int64_t plane = (d * g.stride[0] + shift[0]) * g.input[1];
        for (int64_t h = range[1].begin; h < range[1].end; ++h) {
            const double* from = x + (d * g.output[1] + h) * g.output[2];
            double* to = sums + (plane + h * g.stride[1] + shift[1]) * g.input[2];
            for (int64_t w = range[2].begin; w < range[2].end; ++w) {
                to[w * g.stride[2] + shift[2]] += weight * from[w];
            }
        }
    }
}

// All taps of one channel of x; weights [kd, kh, kw].
template <class T>
void spread_channel(const WindowGeometry& g, const double* x, const T* weights, double* sums) {
    Extents tap{};
    for (tap[0] = 0; tap[0] < g.kernel[0]; ++tap[0]) {
        for (tap[1] = 0; tap[1] < g.kernel[1]; ++tap[1]) {
            for (tap[2] = 0; tap[2] < g.kernel[2]; ++tap[2]) {
                spread_tap(g, x, widen(*weights++), tap, sums);
            }
        }
    }
}

template <class T>
Status run_conv_transpose(const ReferenceArgs& args) {
    LEAT_ASSIGN_OR_RETURN(const ConvTransposeGeometry conv,
                          ConvTransposeGeometry::make(args.node, args.inputs[0].shape,
                                                      args.inputs[1].shape, args.outputs[0].shape));
    const TensorArg* bias = find_arg(args.inputs, 2);
    const int64_t in_plane = conv.window.output_count();
    const int64_t taps = conv.window.kernel_count();
    const int64_t in_group = conv.in_channels_per_group();
    const int64_t out_group = conv.out_channels_per_group();
    // One image at a time, widened once: every output channel reads it again.
    std::vector<double> image(size_t(conv.in_channels * in_plane));
    std::vector<double> sums(size_t(conv.window.input_count()));
    T* y = args.outputs[0].as<T>();
    for (int64_t n = 0; n < conv.batch; ++n) {
        const T* x = args.inputs[0].as<const T>() + n * conv.in_channels * in_plane;
        std::transform(x, x + image.size(), image.begin(), widen<T>);
        for (int64_t o = 0; o < conv.out_channels; ++o) {
            std::fill(sums.begin(), sums.end(),
                      bias != nullptr ? widen(bias->as<const T>()[o]) : 0.0);
            const int64_t first = o / out_group * in_group;
            for (int64_t c = first; c < first + in_group; ++c) {
                const int64_t kernel = c * out_group + o % out_group;
                spread_channel(conv.window, image.data() + c * in_plane,
                               args.inputs[1].as<const T>() + kernel * taps, sums.data());
            }
            y = std::transform(sums.begin(), sums.end(), y, narrow<T>);
        }
    }
    return {};
}

}  // namespace

Status conv_transpose_reference(const ReferenceArgs& args) {
    return dispatch_float(args.inputs[0].dtype, [&](auto element) {
        return run_conv_transpose<typename decltype(element)::type>(args);
    });
}

}  // namespace leat
