// Which elements of x make an element of y, and with what weights. The formulas follow the ONNX
// reference implementation, also in what the specification leaves open: windows of even width, and
// at an exact index the window that has it as its second of the two inner taps.
#include <algorithm>
#include <cmath>

#include "ops/resize/resize.h"

namespace leat {
namespace {

// A place between elements of x: base + ratio, 0 < ratio <= 1.
struct Place {
    double x = 0;
    int64_t base = 0;
    double ratio = 1;
};

Place place_of(double x) {
    // Far outside, every tap is clamped to an end anyway. A NaN (of roi) counts as outside.
    x = std::isnan(x) ? -1 : std::clamp(x, -1e15, 1e15);
    const double floor = std::floor(x);
    return floor == x ? Place{x, int64_t(floor) - 1, 1.0} : Place{x, int64_t(floor), x - floor};
}

double source_coordinate(const std::string& mode, const ResizeAxis& axis, int64_t index) {
    const auto y = double(index);
    const auto extent = double(axis.x_extent);
    const double length = axis.scale * extent;
    if (mode == "align_corners") {
        return length == 1 ? 0 : y * (extent - 1) / (length - 1);
    }
    if (mode == "asymmetric") {
        return y / axis.scale;
    }
    if (mode == "tf_crop_and_resize") {
        const double roi = axis.roi_end - axis.roi_begin;
        const double within =
            length == 1 ? roi * (extent - 1) / 2 : y * roi * (extent - 1) / (length - 1);
        return within + axis.roi_begin * (extent - 1);
    }
    if (mode == "tf_half_pixel_for_nn") {
        return (y + 0.5) / axis.scale;
    }
    if (mode == "pytorch_half_pixel" && length == 1) {
        return 0;
    }
    const double half_pixel = (y + 0.5) / axis.scale - 0.5;
    if (mode == "half_pixel_symmetric") {
        // Centres the result when its length was rounded down.
        return extent / 2 * (1 - double(axis.y_extent) / length) + half_pixel;
    }
    return half_pixel;
}

int64_t nearest_index(const std::string& mode, const Place& place) {
    // An exact index has ratio 1 above base.
    if (place.ratio == 1) {
        return place.base + 1;
    }
    const bool up = mode == "ceil" || (mode == "round_prefer_floor" && place.ratio > 0.5) ||
                    (mode == "round_prefer_ceil" && place.ratio >= 0.5);
    return up ? place.base + 1 : place.base;
}

double triangle(double distance) {
    return std::max(0.0, 1 - std::fabs(distance));
}

double cubic(double distance, double a) {
    const double x = std::fabs(distance);
    if (x <= 1) {
        return ((a + 2) * x - (a + 3)) * x * x + 1;
    }
    return x < 2 ? ((a * x - 5 * a) * x + 8 * a) * x - 4 * a : 0;
}

class WindowTaps {
  public:
    WindowTaps(const NodeData& node, ResizeMode mode, const ResizeAxis& axis)
        : is_cubic_(mode == ResizeMode::kCubic),
          a_(node.attr("cubic_coeff_a", -0.75F)),
          excludes_outside_(node.attr("exclude_outside", int64_t{0}) != 0),
          extent_(axis.x_extent) {
        // Shrinking with antialias widens the filter.
        const bool antialias = node.attr("antialias", int64_t{0}) != 0;
        filter_scale_ = antialias ? std::min(axis.scale, 1.0) : 1.0;
        first_ = int64_t(std::floor((is_cubic_ ? -2 : -1) / filter_scale_)) + 1;
    }

    int count() const { return int(2 - 2 * first_); }

    void append(const Place& place, ResizeTaps& taps) const {
        const size_t begin = taps.weights.size();
        double sum = 0;
        for (int64_t i = first_; i < first_ + count(); ++i) {
            const int64_t index = place.base + i;
            const double distance = filter_scale_ * (double(i) - place.ratio);
            double weight = is_cubic_ ? cubic(distance, a_) : triangle(distance);
            if (excludes_outside_ && (index < 0 || index >= extent_)) {
                weight = 0;
            }
            sum += weight;
            taps.indices.push_back(std::clamp<int64_t>(index, 0, extent_ - 1));
            taps.weights.push_back(weight);
        }
        for (size_t i = begin; i < taps.weights.size(); ++i) {
            taps.weights[i] /= sum == 0 ? 1 : sum;
        }
    }

  private:
    bool is_cubic_;
    double a_;
    bool excludes_outside_;
    int64_t extent_;
    double filter_scale_ = 1;
    int64_t first_ = 0;
};

}  // namespace

bool ResizeAxis::is_identity() const {
    return x_extent == y_extent && std::fabs(scale - 1) <= 1e-9 && std::fabs(roi_begin) <= 1e-9 &&
           std::fabs(roi_end - 1) <= 1e-9;
}

ResizeTaps resize_taps(const NodeData& node, ResizeMode mode, const ResizeAxis& axis) {
    const std::string coordinates = node.attr("coordinate_transformation_mode", "half_pixel");
    const std::string rounding = node.attr("nearest_mode", "round_prefer_floor");
    const bool crops = coordinates == "tf_crop_and_resize";
    const WindowTaps window(node, mode, axis);
    ResizeTaps taps;
    taps.count = mode == ResizeMode::kNearest ? 1 : window.count();
    for (int64_t i = 0; i < axis.y_extent; ++i) {
        const Place place = place_of(source_coordinate(coordinates, axis, i));
        if (mode == ResizeMode::kNearest) {
            const int64_t index = nearest_index(rounding, place);
            taps.indices.push_back(std::clamp<int64_t>(index, 0, axis.x_extent - 1));
            taps.weights.push_back(1);
        } else {
            window.append(place, taps);
        }
        if (crops) {
            taps.extrapolated.push_back(place.x < 0 || place.x > double(axis.x_extent - 1));
        }
    }
    return taps;
}

}  // namespace leat
