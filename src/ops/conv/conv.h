// Conv: y[n,o,p] = bias[o] + sum over c, t of x[n, g(o) C/group + c, p stride + t dilation - pad]
// w[o,c,t].
//
// Conv-22. x [n, C, spatial...], w [O, C/group, kernel...], bias [O] optional, y [n, O,
// spatial...]; 1 to 3
//   spatial axes; g(o) = o / (O/group). Positions outside x count as zero. Geometry: ops/window.h.
// Attribute kWeightScale, which only passes of leat set: w[o,..] counts times element o, so that a
// scale after the convolution needs no copy of the weights.
// Types: f16, bf16, f32, f64. The reference accumulates in double.
#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "graph/op_def.h"
#include "ops/window.h"

namespace leat {

inline constexpr std::string_view kWeightScale = "leat.weight_scale";  // floats [O]

// The factors of the output channels; empty: all are 1.
std::span<const float> weight_scale(const NodeData& conv);

// The extents of a convolution of x with w; nullopt where both ranks are unknown.
Result<std::optional<std::vector<DimSpec>>> conv_dims(const NodeData& node,
                                                      const TypeInfo& x,
                                                      const TypeInfo& w);
// Error unless the bias has an element for each output channel of w, as far as is known.
Status check_conv_bias(const TypeInfo& bias, const TypeInfo& w);

// OpDef::cost of a convolution with these weights.
Cost conv_cost(const TensorArg& w,
               std::span<const TensorArg> inputs,
               std::span<const TensorArg> outputs);

// One Conv of fixed shapes.
struct ConvGeometry {
    WindowGeometry window;
    int64_t batch = 0;
    int64_t groups = 1;
    int64_t in_channels = 0;   // of all groups
    int64_t out_channels = 0;  // of all groups

    int64_t in_channels_per_group() const { return in_channels / groups; }
    int64_t out_channels_per_group() const { return out_channels / groups; }

    // x, w, y: logical shapes that inference accepted.
    static Result<ConvGeometry> make(const NodeData& node,
                                     const Shape& x,
                                     const Shape& w,
                                     const Shape& y);
};

}  // namespace leat
