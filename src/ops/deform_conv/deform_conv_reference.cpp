// For each channel and tap: x at the places of all positions, which every output channel of the
// group adds with its weight.
#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "ops/deform_conv/deform_conv.h"
#include "ops/element.h"

namespace leat {
namespace {

using DeformPlace = std::array<double, kMaxSpatialRank>;

// x at a place between its elements: linear along each axis.
template <class T>
double value_between(const WindowGeometry& g, const T* x, const DeformPlace& place) {
    Extents low{};
    DeformPlace fraction{};
    for (size_t axis = 0; axis < place.size(); ++axis) {
        if (!(place[axis] > -1 && place[axis] < double(g.input[axis]))) {
            return 0;
        }
        const double floor = std::floor(place[axis]);
        low[axis] = int64_t(floor);
        fraction[axis] = place[axis] - floor;
    }
    double sum = 0;
    for (unsigned corner = 0; corner < 8; ++corner) {
        double weight = 1;
        int64_t offset = 0;
        bool is_inside = true;
        for (size_t axis = 0; axis < place.size(); ++axis) {
            const int64_t is_high = corner >> axis & 1U;
            const int64_t index = low[axis] + is_high;
            weight *= is_high != 0 ? fraction[axis] : 1 - fraction[axis];
            is_inside = is_inside && index >= 0 && index < g.input[axis];
            offset = offset * g.input[axis] + index;
        }
        if (is_inside && weight != 0) {
            sum += weight * widen(x[offset]);
        }
    }
    return sum;
}

struct DeformGeometry {
    ConvGeometry conv;
    int64_t offset_groups = 1;
    int64_t spatial_rank = 2;  // WindowGeometry puts axes of one element in front of these
};

// One image of each operand; null where there is no mask.
template <class T>
struct DeformedImage {
    const T* x;
    const T* offset;
    const T* mask;
};

// A channel of x at one tap, by position.
template <class T>
void read_deformed(const DeformGeometry& deform,
                   const DeformedImage<T>& image,
                   int64_t channel,
                   int64_t tap,
                   std::vector<double>& values) {
    const WindowGeometry& g = deform.conv.window;
    const int64_t group = channel / (deform.conv.in_channels / deform.offset_groups);
    const int64_t row = group * g.kernel_count() + tap;
    const auto first = size_t(kMaxSpatialRank - deform.spatial_rank);
    const Extents t = position_of(tap, g.kernel);
    const int64_t positions = g.output_count();
    for (int64_t p = 0; p < positions; ++p) {
        const Extents o = position_of(p, g.output);
        DeformPlace place{};
        for (size_t axis = 0; axis < place.size(); ++axis) {
            place[axis] = double(g.origin(int(axis), o[axis]) + t[axis] * g.dilation[axis]);
            if (axis >= first) {
                const int64_t at = row * deform.spatial_rank + int64_t(axis - first);
                place[axis] += widen(image.offset[at * positions + p]);
            }
        }
        const double value = value_between(g, image.x + channel * g.input_count(), place);
        values[size_t(p)] =
            image.mask == nullptr ? value : value * widen(image.mask[row * positions + p]);
    }
}

// sums [positions] += values * weight.
void add_weighted(const std::vector<double>& values, double weight, double* sums) {
    for (const double value : values) {
        *sums++ += weight * value;
    }
}

// sums [M, positions] += the products of one image.
template <class T>
void add_deformed(const DeformGeometry& deform,
                  const DeformedImage<T>& image,
                  const T* weights,
                  std::vector<double>& sums) {
    const ConvGeometry& conv = deform.conv;
    const int64_t positions = conv.window.output_count();
    const int64_t taps = conv.window.kernel_count();
    const int64_t in_group = conv.in_channels_per_group();
    const int64_t out_group = conv.out_channels_per_group();
    std::vector<double> values(static_cast<size_t>(positions));
    for (int64_t c = 0; c < conv.in_channels; ++c) {
        const int64_t first = c / in_group * out_group;
        for (int64_t t = 0; t < taps; ++t) {
            read_deformed(deform, image, c, t, values);
            for (int64_t o = first; o < first + out_group; ++o) {
                const double weight = widen(weights[(o * in_group + c % in_group) * taps + t]);
                add_weighted(values, weight, sums.data() + o * positions);
            }
        }
    }
}

template <class T>
Status run_deform_conv(const ReferenceArgs& args) {
    const Shape& x_shape = args.inputs[0].shape;
    const Shape& y_shape = args.outputs[0].shape;
    DeformGeometry deform;
    LEAT_ASSIGN_OR_RETURN(deform.conv,
                          ConvGeometry::make(args.node, x_shape, args.inputs[1].shape, y_shape));
    deform.offset_groups = args.node.attr("offset_group", int64_t{1});
    deform.spatial_rank = x_shape.rank() - 2;
    const ConvGeometry& conv = deform.conv;
    const int64_t positions = conv.window.output_count();
    const int64_t rows = deform.offset_groups * conv.window.kernel_count();
    const TensorArg* bias = find_arg(args.inputs, 3);
    const TensorArg* mask = find_arg(args.inputs, 4);
    std::vector<double> sums(size_t(y_shape.element_count(1, y_shape.rank())));
    T* y = args.outputs[0].as<T>();
    for (int64_t n = 0; n < conv.batch; ++n) {
        const int64_t of_mask = n * rows * positions;
        const DeformedImage<T> image = {
            args.inputs[0].as<const T>() + n * conv.in_channels * conv.window.input_count(),
            args.inputs[2].as<const T>() + of_mask * deform.spatial_rank,
            mask == nullptr ? nullptr : mask->as<const T>() + of_mask};
        for (int64_t o = 0; o < conv.out_channels; ++o) {
            std::fill_n(sums.begin() + o * positions, positions,
                        bias == nullptr ? 0.0 : widen(bias->as<const T>()[o]));
        }
        add_deformed(deform, image, args.inputs[1].as<const T>(), sums);
        y = std::transform(sums.begin(), sums.end(), y, narrow<T>);
    }
    return {};
}

}  // namespace

Status deform_conv_reference(const ReferenceArgs& args) {
    return dispatch_float(args.inputs[0].dtype, [&](auto element) {
        return run_deform_conv<typename decltype(element)::type>(args);
    });
}

}  // namespace leat
