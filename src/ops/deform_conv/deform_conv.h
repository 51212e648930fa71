// DeformConv: a convolution whose taps read x beside their places, by offsets that are data.
//   y[n, o, p] = bias[o] + sum over c, t of w[o, c - g C/group, t] mask[n, d, t, p]
//                x[n, c, p stride + t dilation - pad + offset[n, d, t, :, p]], c in the group g of
//                o
//   x [n, C, spatial...], w [M, C/group, kernel...], bias [M] optional, y [n, M, out...]
//   offset [n, D K r, out...], mask [n, D K, out...] optional, else 1; D = offset_group, K the
//   number of taps, r the number of spatial axes, 1 to 3; d = c D/C
// Between elements x is linear along each axis; elements outside are 0, as are places without a
// number. Types: f16, bf16, f32, f64; places and sums are f64. ONNX DeformConv-22, -19; the text
// gives masks another extent for other than two axes, the reference evaluator the one above.
// Dai et al., arXiv:1703.06211; Zhu et al., arXiv:1811.11168.
#pragma once

#include "graph/op_def.h"
#include "ops/conv/conv.h"

namespace leat {

Status deform_conv_reference(const ReferenceArgs& args);

}  // namespace leat
