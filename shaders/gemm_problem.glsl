// A batch of products Y = alpha S A B + beta C, as leat::vulkan::GemmProblem; strides in elements.
// Columns of Y are dense, its rows and products anywhere; A and B may be transposed; C, A and B
// broadcast along batch axes, and C along rows and columns. S, if there is one, scales rows: product
// p has the m scales from p % scale_period * m on.
const uint kMaxRank = 8;
layout(buffer_reference, scalar, buffer_reference_align = 4) readonly buffer GemmProblem {
    uint m;
    uint n;
    uint k;
    uint a_row;
    uint a_k;
    uint b_k;
    uint b_column;
    uint c_row;
    uint c_column;
    uint has_c;
    float alpha;
    float beta;
    uint y_row;
    uint batch_count;
    uint batch_rank;
    uint batch_extents[kMaxRank];
    uint a_batch[kMaxRank];
    uint b_batch[kMaxRank];
    uint c_batch[kMaxRank];
    uint y_batch[kMaxRank];
    uint scale_period;  // 0: no S
    float scale[];
};

// What a row of A B is multiplied with.
float gemm_scale(GemmProblem problem, uint product, uint row) {
    if (problem.scale_period == 0u) {
        return problem.alpha;
    }
    return problem.alpha * problem.scale[product % problem.scale_period * problem.m + row];
}

// Where A, B, C and Y of one product begin.
uvec4 gemm_origins(GemmProblem problem, uint product) {
    uvec4 origins = uvec4(0u);
    for (uint axis = problem.batch_rank; axis-- > 0u;) {
        const uint index = product % problem.batch_extents[axis];
        product /= problem.batch_extents[axis];
        origins += index * uvec4(problem.a_batch[axis], problem.b_batch[axis], problem.c_batch[axis],
                                 problem.y_batch[axis]);
    }
    return origins;
}
