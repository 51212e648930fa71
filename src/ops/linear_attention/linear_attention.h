// LinearAttention: attention by a state S [d_k, d_v] of each key head that each token updates.
//   query : [b, t, H_q d_k]; key : [b, t, H_kv d_k]; value : [b, t, H_kv d_v]
//   past_state : [b, H_kv, d_k, d_v], zeros if absent
//   decay : [b, t, H_kv] or [b, t, H_kv d_k], of "gated" and "gated_delta" alone
//   beta : [b, t, H_kv] or [b, t, 1], of "delta" and "gated_delta" alone
//   output : [b, t, H_q d_v]; present_state : [b, H_kv, d_k, d_v]
// For each token: S = exp(decay) S (gated), v = beta (v - S^T k) (delta), S = S + k v^T, and
// output = scale S^T q. Query head h reads the state of key head h / (H_q / H_kv).
// Types: f16, bf16, f32; the states may have another of them, that of the query without a past.
// Attributes: q_num_heads, kv_num_heads; update_rule = "gated_delta", or "linear", "gated",
// "delta"; scale = 0, which stands for 1 / sqrt(d_k); chunk_size, a hint without effect.
// The reference computes in double and rounds once. ONNX LinearAttention-27.
#pragma once

#include "graph/op_def.h"

namespace leat {

Status linear_attention_reference(const ReferenceArgs& args);

// What the update rule does before it adds a token.
struct LinearAttentionRule {
    bool decays = false;
    bool corrects = false;

    static Result<LinearAttentionRule> of(const NodeData& node);
};

}  // namespace leat
