// CausalConvWithState: a convolution of each channel with a kernel of its own, over this and the
// k - 1 positions before, of which the first ones come from a state.
//   input : [n, c, length]; weight : [c, 1, k], k >= 1; bias : [c] or absent;
//   past_state : [n, c, k - 1], zeros if absent
//   output = act(bias[c] + sum over j of weight[c, 0, j] * padded[n, c, t + j]), where padded is
//   past_state followed by input; present_state is the last k - 1 positions of padded
// Types: f16, bf16, f32. Attribute: activation = "none", "silu" or "swish" (which are x
// sigmoid(x)). The reference computes in double and rounds once. ONNX CausalConvWithState-27.
#pragma once

#include "graph/op_def.h"

namespace leat {

Status causal_conv_reference(const ReferenceArgs& args);

}  // namespace leat
