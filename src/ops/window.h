// Geometry of sliding windows: what Conv and the pooling operators share.
//
// Spatial axes are axes 2.. of [n, c, d?, h?, w]. Positions are in elements of one axis; tap t of
// window o reads input position o * stride + t * dilation - pad_begin.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "graph/op_def.h"

namespace leat {

inline constexpr int kMaxSpatialRank = 3;
using Extents = std::array<int64_t, kMaxSpatialRank>;

// Where the element with this number lies in a grid, counted in the order (d, h, w).
constexpr Extents position_of(int64_t number, const Extents& extents) {
    return {number / (extents[1] * extents[2]), number / extents[2] % extents[1],
            number % extents[2]};
}

struct Window {
    enum class AutoPad : uint8_t { kNotSet, kSameUpper, kSameLower, kValid };

    int rank = 0;  // spatial axes, 1 to 3
    Extents kernel{1, 1, 1};
    Extents stride{1, 1, 1};
    Extents dilation{1, 1, 1};
    Extents pad_begin{};
    Extents pad_end{};
    AutoPad auto_pad = AutoPad::kNotSet;
    bool ceil_mode = false;

    // Reads strides, dilations, pads, auto_pad and ceil_mode. `kernel` has the spatial rank; the
    // attribute kernel_shape, if there, must agree with it.
    static Result<Window> from_node(const NodeData& node, std::span<const int64_t> kernel);
    // The same with the kernel from the attribute kernel_shape, which must be there.
    static Result<Window> from_node(const NodeData& node);

    // Input positions that a window spans along an axis, first to last tap.
    int64_t span(int axis) const { return (kernel[size_t(axis)] - 1) * dilation[size_t(axis)] + 1; }
    // Number of windows along an axis of `input` positions, possibly <= 0: then no window fits.
    int64_t output_extent(int axis, int64_t input) const;
    // The output extent of a known or unknown input; an error if no window fits.
    Result<DimSpec> output_dim(int axis, const DimSpec& input) const;
};

// Half-open range.
struct IndexRange {
    int64_t begin = 0;
    int64_t end = 0;
    int64_t count() const { return end > begin ? end - begin : 0; }
};

// A window over an input whose extents are known: pads are numbers, axes always three (d h w,
// leading ones added), so that kernels need one loop nest.
struct WindowGeometry {
    Extents input{1, 1, 1};
    Extents output{1, 1, 1};
    Extents kernel{1, 1, 1};
    Extents stride{1, 1, 1};
    Extents dilation{1, 1, 1};
    Extents pad_begin{};
    Extents pad_end{};  // as declared; windows made by ceil_mode may reach beyond it

    // input, output: shapes [n, c, spatial...], logical order.
    static WindowGeometry make(const Window& window, const Shape& input, const Shape& output);

    int64_t input_count() const { return input[0] * input[1] * input[2]; }
    int64_t output_count() const { return output[0] * output[1] * output[2]; }
    int64_t kernel_count() const { return kernel[0] * kernel[1] * kernel[2]; }
    // Input position of the first tap of window o along an axis; may be negative.
    int64_t origin(int axis, int64_t o) const {
        return o * stride[size_t(axis)] - pad_begin[size_t(axis)];
    }
};
// Taps t in [0, taps) with 0 <= origin + t * step < extent.
IndexRange taps_inside(int64_t origin, int64_t step, int64_t taps, int64_t extent);

}  // namespace leat
