// FlexAttention: Y = prob_mod(softmax(score_mod(Q K^T scale))) V for each query head; the two
// modifiers are bodies that may be absent.
//   Q [b, H_q, q, d], K [b, H_kv, k, d], V [b, H_kv, k, d_v], Y [b, H_q, q, d_v]; f16, bf16, f32,
//   f64, all of one type. H_q is a multiple of H_kv.
//   A modifier takes and gives one tensor [b, H_q, q, k] of the type softmax_precision, which is
//   f64 for Q of f64 and else f32 by default.
// Attribute: scale = 1 / sqrt(d). A row whose scores are all -infinity is NaN, as in the data.
// The reference computes in double, and rounds what modifiers see, and the result.
// ONNX FlexAttention-1 of ai.onnx.preview.
#pragma once

#include "graph/op_def.h"

namespace leat {

// The element type of scores and probabilities.
Result<DType> flex_attention_precision(const NodeData& node, DType q);

Status flex_attention_reference(const ReferenceArgs& args);

}  // namespace leat
