// RoiAlign: y[k, c, i, j] = mean (or largest) of x at samples of cell (i, j) of a region.
//   x [n, C, h, w], rois [K, 4] as x: x1, y1, x2, y2; batch_indices [K], i64: the image of each
//   y [K, C, output_height, output_width]. Types: f16, bf16, f32, f64.
// Corners count times spatial_scale, less 0.5 for coordinate_transformation_mode half_pixel, where
// regions may be empty; for output_half_pixel they have extents of 1 or more. A cell has
// sampling_ratio samples along each axis, for 0 as many as it is long, rounded up; x between its
// elements is linear, and 0 more than 1 beyond them. mode max takes the largest of the four terms
// of each sample, as ONNX's data and ONNX Runtime do, not of their sums. No sample: 0.
// ONNX RoiAlign-22, -16; -10 has output_half_pixel.
//
// MaxRoiPool: y[k, c, i, j] = largest x of cell (i, j) of a region.
//   x [n, C, h, w], rois [K, 5] as x: the image, x1, y1, x2, y2; y [K, C, pooled_shape...]
// Corners times spatial_scale are rounded, halves away from 0; the last one belongs to the region,
// which has extents of 1 or more. Cells are rounded outwards; empty ones give 0, a NaN wins.
// ONNX MaxRoiPool-22, -1; Girshick, arXiv:1504.08083.
//
// Both find places in f32 (f64 where x is), as the number of samples and of elements needs it.
#pragma once

#include <array>
#include <cstdint>

#include "graph/op_def.h"

namespace leat {

Status roi_align_reference(const ReferenceArgs& args);
Status max_roi_pool_reference(const ReferenceArgs& args);

struct RoiAlignOptions {
    float scale = 1;
    int64_t samples = 0;  // of a cell along each axis; 0: by its extent
    std::array<int64_t, 2> output{1, 1};
    bool is_max = false;
    bool is_half_pixel = true;

    static Result<RoiAlignOptions> from_node(const NodeData& node);
};

// Attribute pooled_shape.
Result<std::array<int64_t, 2>> roi_pooled_shape(const NodeData& node);

}  // namespace leat
