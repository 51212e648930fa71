// DepthToSpace and SpaceToDepth: blocks of b x b pixels to channels and back.
//   DepthToSpace  x [n, c, h, w]  ->  y [n, c / b^2, h * b, w * b]
//   SpaceToDepth  x [n, c, h, w]  ->  y [n, c * b^2, h / b, w / b]
// Pixel (i, j) of a block of channel k lies in channel (i * b + j) * channels + k of mode DCR, the
// default, and in channel (k * b + i) * b + j of mode CRD; channels are those of the larger image.
//   x, y : any type, any layout. Attributes: blocksize >= 1, mode.
// ONNX DepthToSpace-28 (mode from opset 11), SpaceToDepth-28 (mode from opset 28; before DCR).
#pragma once

#include "graph/op_def.h"

namespace leat {

Status depth_to_space_reference(const ReferenceArgs& args);

// Both as a copy between strided tensors of one shape, [n, channels, h, i, w, j].
struct BlockCopy {
    Shape shape;
    Strides source{};
    Strides destination{};

    // x and y have the shapes that inference gives.
    static Result<BlockCopy> make(const NodeData& node, const TensorArg& x, const TensorArg& y);
};

}  // namespace leat
