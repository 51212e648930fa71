// ConvTranspose: the adjoint of Conv. Every element of x adds its window, scaled, to y.
//   y[n, o, p] = bias[o] + sum of x[n, c, i] w[c, o - g M/group, t] over c in the group g of o and
//   over i, t with i stride + t dilation - pad_begin = p
//   x [n, C, spatial...], w [C, M/group, kernel...], bias [M] optional, y [n, M, spatial...]; 1 to
//   3 spatial axes. Types: f16, bf16, f32, f64; sums are kept in f64 and rounded once.
// Extents of y: stride (in - 1) + output_padding + span - pads; with SAME_UPPER or SAME_LOWER
// in stride; output_shape, where given, says them. In the last two cases pads follow from what is
// cut off, never below 0: the odd element is cut at the end for SAME_UPPER, else at the beginning.
// output_padding is below the larger of stride and dilation. ONNX ConvTranspose-22, -11, -1: all
// compute the same (the text of version 1 swaps the sides of an odd element, but no data do).
#pragma once

#include "graph/op_def.h"
#include "ops/window.h"

namespace leat {

Status conv_transpose_reference(const ReferenceArgs& args);

// One ConvTranspose of fixed shapes.
struct ConvTransposeGeometry {
    // Of the convolution that this is the adjoint of: its input is y, its output is x.
    WindowGeometry window;
    int64_t batch = 0;
    int64_t groups = 1;
    int64_t in_channels = 0;   // of all groups
    int64_t out_channels = 0;  // of all groups

    int64_t in_channels_per_group() const { return in_channels / groups; }
    int64_t out_channels_per_group() const { return out_channels / groups; }

    // x, w, y: logical shapes that inference accepted.
    static Result<ConvTransposeGeometry> make(const NodeData& node,
                                              const Shape& x,
                                              const Shape& w,
                                              const Shape& y);
};

}  // namespace leat
