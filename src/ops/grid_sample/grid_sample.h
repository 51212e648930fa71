// GridSample: y[n, c, p] = x[n, c] read at the position that grid[n, p] gives, between elements.
//   x [n, C, spatial...] of r >= 1 spatial axes, any type but small ones; strings only by nearest
//   grid [n, positions..., r], f16, bf16, f32, f64: coordinates, those of the last axis of x first
//   y [n, C, positions...], r axes of positions
// A coordinate g is the place (g + 1)(extent - 1)/2 with align_corners, else ((g + 1)extent - 1)/2.
// Modes: linear, cubic (Keys, alpha = -0.75), nearest (halves to even), along each axis.
// Elements outside: zeros (strings: empty); border: the nearest; reflection: as in a mirror at the
// outermost elements with align_corners, else at their outer edges. That holds for each element
// which a place reads, as in PyTorch and ONNX Runtime; the reference evaluator first moves cubic
// places to the border. A place that is no number: zeros, or as 0.
// Places are found in f32 (f64 where grid is), as nearest needs it. Sums are made in f64; integers
// are cut off; complex numbers are mixed by parts.
// ONNX GridSample-22, -20; -16 calls the modes bilinear and bicubic and has two spatial axes.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>

#include "graph/op_def.h"

namespace leat {

Status grid_sample_reference(const ReferenceArgs& args);

struct GridSampleOptions {
    enum class Mode : uint8_t { kNearest, kLinear, kCubic };
    enum class Outside : uint8_t { kZeros, kBorder, kReflection };

    Mode mode = Mode::kLinear;
    Outside outside = Outside::kZeros;
    bool align_corners = false;

    static Result<GridSampleOptions> from_node(const NodeData& node);
    int taps() const { return mode == Mode::kNearest ? 1 : mode == Mode::kLinear ? 2 : 4; }
};

// What a coordinate reads along one axis.
struct GridTaps {
    int count = 0;
    std::array<int64_t, 4> index{};  // -1: outside, zero
    std::array<double, 4> weight{};
};

// A place beyond [low, high], mirrored at both.
inline double mirror_place(double place, double low, double high) {
    const double range = high - low;
    if (!(range > 0) || !std::isfinite(place)) {
        return low;
    }
    const double along = std::fmod(std::fabs(place - low), 2 * range);
    return low + (along > range ? 2 * range - along : along);
}

// The place of a coordinate, along an axis of `extent` elements. Real is float or double.
template <class Real>
Real grid_place(const GridSampleOptions& options, Real coordinate, int64_t extent) {
    using Outside = GridSampleOptions::Outside;
    const Real place = options.align_corners ? (coordinate + 1) / 2 * Real(extent - 1)
                                             : ((coordinate + 1) * Real(extent) - 1) / 2;
    const Real at =
        options.mode == GridSampleOptions::Mode::kNearest ? std::nearbyint(place) : place;
    if (options.outside == Outside::kZeros) {
        return at;
    }
    if (std::isnan(at)) {
        return 0;
    }
    const double low = options.align_corners ? 0 : -0.5;
    const double high = double(extent) - 1 - low;
    if (double(at) >= low && double(at) <= high) {
        return at;
    }
    if (options.outside == Outside::kReflection) {
        return Real(mirror_place(double(at), low, high));
    }
    // Each element around a place counts for itself: cubic ones go on beyond the border.
    const Real beyond = options.mode == GridSampleOptions::Mode::kCubic ? Real(3) : Real(0);
    return std::clamp(at, -beyond, Real(extent - 1) + beyond);
}

inline int64_t grid_index(const GridSampleOptions& options, int64_t index, int64_t extent) {
    if (index >= 0 && index < extent) {
        return index;
    }
    switch (options.outside) {
        case GridSampleOptions::Outside::kZeros:
            return -1;
        case GridSampleOptions::Outside::kBorder:
            return std::clamp<int64_t>(index, 0, extent - 1);
        default: {
            const double low = options.align_corners ? 0 : -0.5;
            const double mirrored = mirror_place(double(index), low, double(extent) - 1 - low);
            return std::clamp<int64_t>(int64_t(mirrored), 0, extent - 1);
        }
    }
}

// Weights of the elements around a place that lies `fraction` behind the second one.
inline std::array<double, 4> keys_weights(double fraction) {
    constexpr double kAlpha = -0.75;
    const auto near = [](double d) { return ((kAlpha + 2) * d - (kAlpha + 3)) * d * d + 1; };
    const auto far = [](double d) {
        return ((kAlpha * d - 5 * kAlpha) * d + 8 * kAlpha) * d - 4 * kAlpha;
    };
    return {far(fraction + 1), near(fraction), near(1 - fraction), far(2 - fraction)};
}

// Precondition: extent > 0.
template <class Real>
GridTaps grid_taps(const GridSampleOptions& options, Real coordinate, int64_t extent) {
    const Real place = grid_place(options, coordinate, extent);
    GridTaps taps;
    taps.count = options.taps();
    taps.index.fill(-1);
    // So far outside, or no number: only zeros are.
    constexpr Real kReach = 4;
    if (!(place > -kReach && place < Real(extent) + kReach)) {
        return taps;
    }
    const auto towards_zero = int64_t(place);
    const int64_t floor = towards_zero - (Real(towards_zero) > place ? 1 : 0);
    const double fraction = double(place) - double(floor);
    if (options.mode == GridSampleOptions::Mode::kCubic) {
        taps.weight = keys_weights(fraction);
    } else if (options.mode == GridSampleOptions::Mode::kLinear) {
        taps.weight = {1 - fraction, fraction};
    } else {
        taps.weight = {1};
    }
    const int64_t first = floor - (taps.count == 4 ? 1 : 0);
    for (int i = 0; i < taps.count; ++i) {
        taps.index[size_t(i)] = grid_index(options, first + i, extent);
    }
    return taps;
}

}  // namespace leat
