// Attention: Y = softmax(softcap(Q K^T scale) + bias) V for each query head.
//   Q [b, H_q, q, d], K [b, H_kv, k, d], V [b, H_kv, k, d_v], Y [b, H_q, q, d_v]; or all of rank 3,
//   [b, s, heads * size], with attributes q_num_heads and kv_num_heads. H_q is a multiple of H_kv.
//   attn_mask : broadcasts to [b, H_q, q, total], total = past + k; keys that a shorter last axis
//   does not reach are masked. bool: true takes part; a number is added to the score.
//   past_key [b, H_kv, past, d], past_value [b, H_kv, past, d_v] : stand before K and V
//   nonpad_kv_seqlen : i64 [b], keys of each sequence that are no padding; not with a past
//   present_key [b, H_kv, total, d], present_value [b, H_kv, total, d_v] : past and K, V
//   qk_matmul_output [b, H_q, q, total] : by qk_matmul_output_mode 0 the scores, 1 with softcap,
//   2 with bias, 3 after softmax
// Query i stands at position p = i + offset; offset is past, or nonpad_kv_seqlen - q, or 0. Keys
// beyond p (is_causal), before p - left_window_size or behind p + right_window_size are masked.
// A masked key counts for nothing, whatever K and V hold there; without any key the row is zero.
// Types: f16, bf16, f32, f64; V may differ from Q and K, Y has Q's; masks: numbers and bool.
// Attributes: scale = 1 / sqrt(d); softcap, none unless > 0; is_causal = 0; the windows = -1
// (none); qk_matmul_output_mode = 0; softmax_precision, a floating type. The reference computes in
// double whatever that says, and rounds once. ONNX Attention-25; 24 lacks the windows, 23 lacks
// nonpad_kv_seqlen, too.
#pragma once

#include "graph/op_def.h"

namespace leat {

enum AttentionInput : int {
    kAttentionQ,
    kAttentionK,
    kAttentionV,
    kAttentionMask,
    kAttentionPastKey,
    kAttentionPastValue,
    kAttentionNonpad,
};

// Where the vectors of a head lie: element e of (sequence, head, token) at the sum of the products.
struct AttentionStrides {
    int64_t sequence = 0;
    int64_t head = 0;
    int64_t token = 0;

    int64_t first(int64_t b, int64_t h, int64_t t) const {
        return b * sequence + h * head + t * token;
    }
};

// Half-open.
struct KeyRange {
    int64_t begin = 0;
    int64_t end = 0;
};

struct AttentionGeometry {
    int64_t batch = 0;
    int64_t query_heads = 0;
    int64_t key_heads = 0;
    int64_t queries = 0;
    int64_t past = 0;
    int64_t total = 0;
    int64_t head_size = 0;
    int64_t value_size = 0;
    AttentionStrides q;
    AttentionStrides k;
    AttentionStrides v;
    AttentionStrides y;
    float scale = 1;
    float softcap = 0;
    bool is_causal = false;
    int64_t left_window = -1;
    int64_t right_window = -1;
    // Of the mask in elements, by axis of [b, H_q, q, total].
    std::array<int64_t, 4> mask_strides{};
    int64_t mask_keys = 0;  // total where there is no mask

    static Result<AttentionGeometry> make(const NodeData& node, std::span<const TensorArg> inputs);
    int64_t key_head(int64_t query_head) const { return query_head / (query_heads / key_heads); }
    int64_t mask_offset(int64_t b, int64_t h, int64_t i) const {
        return b * mask_strides[0] + h * mask_strides[1] + i * mask_strides[2];
    }
    // Keys that a query may read, but for what the mask says of single ones.
    KeyRange keys_of(const TensorArg* nonpad, int64_t sequence, int64_t query) const;
};

// An error names an element of nonpad_kv_seqlen that is no number of keys.
Status check_nonpad(const AttentionGeometry& geometry, const TensorArg* nonpad);

Status attention_reference(const ReferenceArgs& args);

}  // namespace leat
