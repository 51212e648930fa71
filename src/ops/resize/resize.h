// Resize: samples a tensor on a finer or coarser grid, axis by axis.
//
//   x, y   : any layout of rank <= 8; mode nearest: any type, linear and cubic: real types
//   (integers round to
//            nearest even and saturate)
//   roi    : f32 or f64 [2 * count], starts then ends, for tf_crop_and_resize only
//   scales : f32 [count], > 0; y.extent = floor(x.extent * scale), product in f32 (in f64 where f32
//            does not hold x.extent)
//   sizes  : i64 [count]; scale = size / x.extent, or one scale for all axes by
//   keep_aspect_ratio_policy count is that of attribute axes, else the rank. Exactly one of scales
//   and sizes is given; an operand without elements counts as absent.
// Attributes: mode, coordinate_transformation_mode (7), nearest_mode (4), cubic_coeff_a,
// exclude_outside, extrapolation_value, antialias, axes, keep_aspect_ratio_policy. Where formulas
// use the length of the result they mean x.extent * scale before it is rounded down. Positions are
// exact (resize_positions.h): nearest picks what the formulas say. Samples are computed in f64
// (reference) or f32 (kernel). ONNX Resize-19; the importer makes older ones and Upsample of this
// form.
#pragma once

#include <vector>

#include "graph/op_def.h"
#include "ops/resize/resize_positions.h"

namespace leat {

enum class ResizeMode : uint8_t { kNearest, kLinear, kCubic };

Result<ResizeMode> resize_mode(const NodeData& node);

// What each index of y along an axis is made of: `count` consecutive indices of x, clamped to the
// axis, with weights that sum to 1.
struct ResizeTaps {
    int count = 1;
    std::vector<int64_t> indices;       // [y_extent][count]
    std::vector<double> weights;        // [y_extent][count]
    std::vector<uint8_t> extrapolated;  // [y_extent]; empty: none is
};

// The axes' scales and extents from the operands; absent operands are null.
struct ResizeOperands {
    const std::vector<float>* scales = nullptr;
    const std::vector<int64_t>* sizes = nullptr;
    const std::vector<double>* roi = nullptr;
};
// All axes of x. Errors say which operand does not fit.
Result<std::vector<ResizeAxis>> resize_axes(const NodeData& node,
                                            std::span<const int64_t> x,
                                            const ResizeOperands& operands);
// Axes by attribute, else all.
Result<std::vector<int>> resized_axes(const NodeData& node, int rank);

// Precondition: x_extent >= 1 or y_extent == 0; the axis is one that resize_axes gave.
ResizeTaps resize_taps(const NodeData& node, ResizeMode mode, const ResizeAxis& axis);

Status resize_reference(const ReferenceArgs& args);
// Axes from a kernel's arguments: operands 1 to 3, whose data is known.
Result<std::vector<ResizeAxis>> resize_axes_of(const NodeData& node,
                                               std::span<const TensorArg> inputs);

}  // namespace leat
