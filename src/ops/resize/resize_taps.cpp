// Which elements of x make an element of y, and with what weights. The formulas follow the ONNX
// reference implementation, also in what the specification leaves open: windows of even width, and
// at an exact index the window that has it as its second of the two inner taps.
#include <algorithm>
#include <cmath>

#include "ops/resize/resize.h"

namespace leat {
namespace {

int64_t nearest_index(const std::string& mode, const ResizePlace& place) {
    const bool up = place.is_whole || mode == "ceil" ||
                    (mode == "round_prefer_floor" && place.against_half > 0) ||
                    (mode == "round_prefer_ceil" && place.against_half >= 0);
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
        filter_scale_ = antialias ? std::min(axis.scale.value(), 1.0) : 1.0;
        first_ = int64_t(std::floor((is_cubic_ ? -2 : -1) / filter_scale_)) + 1;
    }

    int count() const { return int(2 - 2 * first_); }

    void append(const ResizePlace& place, ResizeTaps& taps) const {
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

ResizeTaps resize_taps(const NodeData& node, ResizeMode mode, const ResizeAxis& axis) {
    const std::string coordinates = node.attr("coordinate_transformation_mode", "half_pixel");
    const std::string rounding = node.attr("nearest_mode", "round_prefer_floor");
    const bool crops = coordinates == "tf_crop_and_resize";
    const ResizePositions positions(coordinates, axis);
    const WindowTaps window(node, mode, axis);
    ResizeTaps taps;
    taps.count = mode == ResizeMode::kNearest ? 1 : window.count();
    for (int64_t i = 0; i < axis.y_extent; ++i) {
        const ResizePlace place = positions.at(i);
        if (mode == ResizeMode::kNearest) {
            const int64_t index = nearest_index(rounding, place);
            taps.indices.push_back(std::clamp<int64_t>(index, 0, axis.x_extent - 1));
            taps.weights.push_back(1);
        } else {
            window.append(place, taps);
        }
        if (crops) {
            taps.extrapolated.push_back(uint8_t(place.is_outside));
        }
    }
    return taps;
}

}  // namespace leat
