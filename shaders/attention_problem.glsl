// A batch of Y = softmax(f(Q K^T)) V over the keys, as leat::vulkan::AttentionProblem; strides in
// elements. f: the epilogue of the scores. Columns of Y are dense, its rows and products anywhere;
// operands broadcast along batch axes.
const uint kMaxRank = 8;
layout(buffer_reference, scalar, buffer_reference_align = 4) readonly buffer AttentionProblem {
    uint rows;     // of Q and Y
    uint keys;     // rows of K and V
    uint depth;    // columns of Q and K
    uint columns;  // of V and Y
    uint q_row;
    uint q_depth;
    uint k_key;
    uint k_depth;
    uint v_key;
    uint v_column;
    uint y_row;
    uint batch_count;
    uint batch_rank;
    uint batch_extents[kMaxRank];
    uint q_batch[kMaxRank];
    uint k_batch[kMaxRank];
    uint v_batch[kMaxRank];
    uint y_batch[kMaxRank];
};

#define NEGATIVE_INFINITY uintBitsToFloat(0xff800000u)

// Where Q, K, V and Y of one product begin.
uvec4 attention_origins(AttentionProblem problem, uint product) {
    uvec4 origins = uvec4(0u);
    for (uint axis = problem.batch_rank; axis-- > 0u;) {
        const uint index = product % problem.batch_extents[axis];
        product /= problem.batch_extents[axis];
        origins += index * uvec4(problem.q_batch[axis], problem.k_batch[axis], problem.v_batch[axis],
                                 problem.y_batch[axis]);
    }
    return origins;
}

// What the weights of keys are taken relative to, exp(score - shift). The largest score so far, but a
// row that has only -inf until now may have others later; one that has only these has a sum of 0, and
// gives NaN.
float attention_shift(float largest) {
    return largest == NEGATIVE_INFINITY ? 0.0 : largest;
}
