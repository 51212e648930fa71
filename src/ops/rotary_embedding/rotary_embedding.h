// RotaryEmbedding: rotates pairs of elements of each head by an angle that the position decides.
//   x, y : [b, heads, s, head_size], or [b, s, heads * head_size] with attribute num_heads
//   cos, sin : [positions, r / 2] with position_ids : i64 [b, s]; else [b, s, r / 2]
//   (x1, x2) -> (cos x1 - sin x2, sin x1 + cos x2), where x1 and x2 are the halves of the first r
//   elements of a head, or, interleaved, those at even and odd places. Other elements stay.
// Attributes: rotary_embedding_dim (r) = 0, which stands for head_size; interleaved = 0; num_heads.
// Axes of extent 1 of position_ids, and of cos and sin without it, stand for all of b or s.
// Positions in [-positions, -1] count from the end, as in the Gather of the standard's function.
// Types: f16, bf16, f32. The reference computes in double and rounds once. ONNX RotaryEmbedding-23.
#pragma once

#include "graph/op_def.h"

namespace leat {

Status rotary_embedding_reference(const ReferenceArgs& args);

struct RotaryGeometry {
    int64_t batch = 0;
    int64_t heads = 0;
    int64_t length = 0;  // s
    int64_t head_size = 0;
    int64_t rotated = 0;  // r
    // Of x and y, in elements.
    int64_t head_stride = 0;
    int64_t token_stride = 0;
    bool is_interleaved = false;

    static Result<RotaryGeometry> make(const NodeData& node, const Shape& x);
    int64_t first_element(int64_t sequence, int64_t token, int64_t head) const {
        return sequence * heads * length * head_size + token * token_stride + head * head_stride;
    }
};

// The row of cos and sin of a token; an error names a position that they do not have.
Result<int64_t> rotary_row(std::span<const TensorArg> inputs, int64_t sequence, int64_t token);

}  // namespace leat
