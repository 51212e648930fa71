#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <type_traits>
#include <vector>

#include "ops/element.h"
#include "ops/roi/roi.h"

namespace leat {
namespace {

Status image_error(const ReferenceArgs& args, int64_t region, double found, int64_t images) {
    return invalid_argument("region {} lies in no image", region)
        .with_found(fmt::format("image {}", found))
        .with_needed(fmt::format("0 to {}", images - 1))
        .with_node(args.node.label());
}

// A region along one axis of x, for RoiAlign.
template <class Real>
struct AlignedAxis {
    Real start = 0;
    Real cell = 0;
    Real samples = 0;  // of a cell
    int64_t extent = 0;
};

// x between two of its elements.
struct AlignedSample {
    int64_t low;
    int64_t high;
    double fraction;
};

template <class Real>
AlignedAxis<Real> aligned_axis(const RoiAlignOptions& options,
                               Real first_corner,
                               Real last_corner,
                               int64_t cells,
                               int64_t extent) {
    const Real offset = options.is_half_pixel ? Real(0.5) : Real(0);
    AlignedAxis<Real> axis;
    axis.extent = extent;
    axis.start = first_corner * Real(options.scale) - offset;
    Real length = last_corner * Real(options.scale) - offset - axis.start;
    if (!options.is_half_pixel && length < 1) {
        length = 1;
    }
    axis.cell = length / Real(cells);
    axis.samples = options.samples > 0 ? Real(options.samples) : std::ceil(axis.cell);
    const bool is_region = std::isfinite(axis.start) && std::isfinite(axis.cell);
    if (!is_region || !(axis.samples > 0)) {
        axis.samples = 0;
    }
    return axis;
}

// The samples of a cell that lie on x or up to 1 beyond it.
template <class Real>
void find_aligned_samples(const AlignedAxis<Real>& axis,
                          int64_t cell,
                          std::vector<AlignedSample>& found) {
    found.clear();
    // There may be more of them than anybody could visit: the first and the last one to look at.
    double first = 0;
    double end = double(axis.samples);
    if (axis.cell > 0) {
        const double per_sample = double(axis.samples) / double(axis.cell);
        const double begin = double(axis.start) + double(cell) * double(axis.cell);
        first = std::clamp(std::floor((-1 - begin) * per_sample) - 2, 0.0, end);
        end = std::clamp(std::ceil((double(axis.extent) - begin) * per_sample) + 2, first, end);
    }
    const auto count = int64_t(end - first);
    for (int64_t i = 0; i < count; ++i) {
        const double s = first + double(i);
        const Real place =
            axis.start + Real(cell) * axis.cell + (Real(s) + Real(0.5)) * axis.cell / axis.samples;
        if (!(place >= -1 && place <= Real(axis.extent))) {
            continue;
        }
        const double inside = std::clamp(double(place), 0.0, double(axis.extent - 1));
        const auto low = int64_t(inside);
        found.push_back({low, std::min(low + 1, axis.extent - 1), inside - double(low)});
    }
}

template <class T>
double aligned_mean(const T* x,
                    int64_t width,
                    const std::vector<AlignedSample>& ys,
                    const std::vector<AlignedSample>& xs,
                    double samples) {
    double sum = 0;
    for (const AlignedSample& v : ys) {
        const T* low = x + v.low * width;
        const T* high = x + v.high * width;
        for (const AlignedSample& h : xs) {
            const double above =
                (1 - h.fraction) * widen(low[h.low]) + h.fraction * widen(low[h.high]);
            const double below =
                (1 - h.fraction) * widen(high[h.low]) + h.fraction * widen(high[h.high]);
            sum += (1 - v.fraction) * above + v.fraction * below;
        }
    }
    return sum / std::max(samples, 1.0);
}

template <class T>
double aligned_max(const T* x,
                   int64_t width,
                   const std::vector<AlignedSample>& ys,
                   const std::vector<AlignedSample>& xs,
                   double samples) {
    // Samples beyond x count as 0.
    const bool is_whole = double(ys.size()) * double(xs.size()) >= samples && samples > 0;
    double largest = is_whole ? -std::numeric_limits<double>::infinity() : 0;
    for (const AlignedSample& v : ys) {
        for (const AlignedSample& h : xs) {
            for (const double term :
                 {(1 - v.fraction) * (1 - h.fraction) * widen(x[v.low * width + h.low]),
                  (1 - v.fraction) * h.fraction * widen(x[v.low * width + h.high]),
                  v.fraction * (1 - h.fraction) * widen(x[v.high * width + h.low]),
                  v.fraction * h.fraction * widen(x[v.high * width + h.high])}) {
                largest = exceeds(term, largest) ? term : largest;
            }
        }
    }
    return largest;
}

// The region's cells in every channel of image x [C, h, w].
template <class Real, class T>
void align_region(const RoiAlignOptions& options,
                  const Shape& x_shape,
                  const T* x,
                  const std::array<AlignedAxis<Real>, 2>& axes,
                  T* y) {
    const int64_t plane = x_shape[2] * x_shape[3];
    const int64_t cells = options.output[0] * options.output[1];
    const double samples = double(axes[0].samples) * double(axes[1].samples);
    std::vector<AlignedSample> ys;
    std::vector<AlignedSample> xs;
    for (int64_t i = 0; i < options.output[0]; ++i) {
        find_aligned_samples(axes[0], i, ys);
        for (int64_t j = 0; j < options.output[1]; ++j) {
            find_aligned_samples(axes[1], j, xs);
            const auto value_of = options.is_max ? aligned_max<T> : aligned_mean<T>;
            for (int64_t c = 0; c < x_shape[1]; ++c) {
                y[c * cells + i * options.output[1] + j] =
                    narrow<T>(value_of(x + c * plane, x_shape[3], ys, xs, samples));
            }
        }
    }
}

template <class T>
Status run_roi_align(const ReferenceArgs& args) {
    using Real = std::conditional_t<std::is_same_v<T, double>, double, float>;
    LEAT_ASSIGN_OR_RETURN(const auto options, RoiAlignOptions::from_node(args.node));
    const Shape& shape = args.inputs[0].shape;
    const T* rois = args.inputs[1].as<const T>();
    const auto* images = args.inputs[2].as<const int64_t>();
    T* y = args.outputs[0].as<T>();
    const int64_t of_region = args.outputs[0].shape.element_count(1, 4);
    for (int64_t k = 0; k < args.outputs[0].shape[0]; ++k, rois += 4, y += of_region) {
        if (images[k] < 0 || images[k] >= shape[0]) {
            return image_error(args, k, double(images[k]), shape[0]);
        }
        const auto corner = [&](int i) { return Real(widen(rois[i])); };
        const std::array<AlignedAxis<Real>, 2> axes = {
            aligned_axis<Real>(options, corner(1), corner(3), options.output[0], shape[2]),
            aligned_axis<Real>(options, corner(0), corner(2), options.output[1], shape[3])};
        const T* x = args.inputs[0].as<const T>() + images[k] * shape.element_count(1, 4);
        if (shape[2] * shape[3] == 0) {
            std::fill_n(y, of_region, narrow<T>(0));
        } else {
            align_region<Real>(options, shape, x, axes, y);
        }
    }
    return {};
}

// Elements of x that a cell of MaxRoiPool has along an axis.
struct PooledCell {
    int64_t begin = 0;
    int64_t end = 0;
};

template <class Real>
PooledCell pooled_cell(Real first, Real last, int64_t cell, int64_t cells, int64_t extent) {
    // Far outside of every x, and exact.
    constexpr double kBeyond = 0x1p50;
    const double begin = std::clamp(double(std::round(first)), -kBeyond, kBeyond);
    const double length = std::clamp(double(std::round(last)), -kBeyond, kBeyond) - begin + 1;
    if (std::isnan(begin) || std::isnan(length)) {
        return {};
    }
    const Real step = Real(std::max(length, 1.0)) / Real(cells);
    const double from = begin + double(std::floor(Real(cell) * step));
    const double to = begin + double(std::ceil(Real(cell + 1) * step));
    return {int64_t(std::clamp(from, 0.0, double(extent))),
            int64_t(std::clamp(to, 0.0, double(extent)))};
}

template <class T>
T max_of_cell(const T* x, int64_t width, const PooledCell& rows, const PooledCell& columns) {
    if (rows.begin >= rows.end || columns.begin >= columns.end) {
        return narrow<T>(0);
    }
    T largest = type_limit<T>(true);
    for (int64_t h = rows.begin; h < rows.end; ++h) {
        for (int64_t w = columns.begin; w < columns.end; ++w) {
            const T value = x[h * width + w];
            largest = exceeds(comparable(value), comparable(largest)) ? value : largest;
        }
    }
    return largest;
}

// A region of an image: where its corners lie, and the cells that it is pooled to.
template <class Real>
struct PooledRegion {
    std::array<Real, 2> first;  // y, x
    std::array<Real, 2> last;
    std::array<int64_t, 2> cells;
};

// Writes the cells of one plane, and returns the place behind them.
template <class T, class Real>
T* pool_plane(const T* x, int64_t height, int64_t width, const PooledRegion<Real>& region, T* y) {
    for (int64_t i = 0; i < region.cells[0]; ++i) {
        const PooledCell rows =
            pooled_cell(region.first[0], region.last[0], i, region.cells[0], height);
        for (int64_t j = 0; j < region.cells[1]; ++j) {
            const PooledCell columns =
                pooled_cell(region.first[1], region.last[1], j, region.cells[1], width);
            *y++ = max_of_cell(x, width, rows, columns);
        }
    }
    return y;
}

template <class T>
Status run_max_roi_pool(const ReferenceArgs& args) {
    using Real = std::conditional_t<std::is_same_v<T, double>, double, float>;
    LEAT_ASSIGN_OR_RETURN(const auto cells, roi_pooled_shape(args.node));
    const auto scale = Real(args.node.attr("spatial_scale", 1.0F));
    const Shape& shape = args.inputs[0].shape;
    const T* rois = args.inputs[1].as<const T>();
    T* y = args.outputs[0].as<T>();
    for (int64_t k = 0; k < args.outputs[0].shape[0]; ++k, rois += 5) {
        const double image = std::trunc(widen(rois[0]));
        if (!(image >= 0 && image < double(shape[0]))) {
            return image_error(args, k, image, shape[0]);
        }
        const auto corner = [&](int i) { return Real(widen(rois[i])) * scale; };
        const PooledRegion<Real> region{
            {corner(2), corner(1)}, {corner(4), corner(3)}, {cells[0], cells[1]}};
        for (int64_t c = 0; c < shape[1]; ++c) {
            const int64_t plane = int64_t(image) * shape[1] + c;
            const T* x = args.inputs[0].as<const T>() + plane * shape[2] * shape[3];
            y = pool_plane(x, shape[2], shape[3], region, y);
        }
    }
    return {};
}

}  // namespace

Status roi_align_reference(const ReferenceArgs& args) {
    return dispatch_float(args.inputs[0].dtype, [&](auto element) {
        return run_roi_align<typename decltype(element)::type>(args);
    });
}

Status max_roi_pool_reference(const ReferenceArgs& args) {
    return dispatch_float(args.inputs[0].dtype, [&](auto element) {
        return run_max_roi_pool<typename decltype(element)::type>(args);
    });
}

}  // namespace leat
