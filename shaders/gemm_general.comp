// Y = alpha S A B + beta C for any element type and any strides; an invocation computes whole elements
// of Y. For types and shapes that no tiled kernel takes.
//   operands   0: A, 1: B, 2: C (any address where there is none), 3: Y, overlapping no other
//   parameters see gemm_problem.glsl; of integers alpha and beta are 1, and there is no S
//   constants  0: workgroup size
// Any number of workgroups in x does.
#version 460
#extension GL_GOOGLE_include_directive : require

layout(local_size_x_id = 0) in;
#include "push_block.glsl"
#include "accumulate.glsl"
#include "gemm_problem.glsl"
#include "epilogue.glsl"

const uint kBlock = 64;  // products of a short sum

WIDE dot_product(ElementsIn a, uint a_at, uint a_step, ElementsIn b, uint b_at, uint b_step, uint k) {
    WIDE total = WIDE(0);
    WIDE block = WIDE(0);
    uint in_block = 0u;
    for (uint i = 0u; i < k; ++i) {
        block += widen(a.at[a_at]) * widen(b.at[b_at]);
        a_at += a_step;
        b_at += b_step;
        if (++in_block == kBlock) {
            total += block;
            block = WIDE(0);
            in_block = 0u;
        }
    }
    return total + block;
}

void main() {
    GemmProblem problem = GemmProblem(push.parameters);
    const uint m = problem.m;
    const uint n = problem.n;
    const uint count = m * n * problem.batch_count;
    ElementsIn a = ElementsIn(operand(0u));
    ElementsIn b = ElementsIn(operand(1u));
    ElementsIn c = ElementsIn(operand(2u));
    ElementsOut y = ElementsOut(operand(3u));
    for (uint i = linear_id(); i < count; i += linear_count()) {
        const uint column = i % n;
        const uint row = i / n % m;
        const uvec4 origins = gemm_origins(problem, i / n / m);
        WIDE value = dot_product(a, origins.x + row * problem.a_row, problem.a_k, b,
                                 origins.y + column * problem.b_column, problem.b_k, problem.k);
#ifndef ELEMENT_IS_INTEGER
        value *= WIDE(gemm_scale(problem, i / n / m, row));
#endif
        if (problem.has_c != 0u) {
            const uint c_at = origins.z + row * problem.c_row + column * problem.c_column;
            WIDE addend = widen(c.at[c_at]);
#ifndef ELEMENT_IS_INTEGER
            addend *= WIDE(problem.beta);
#endif
            value += addend;
        }
        y.at[origins.w + row * problem.y_row + column] = epilogue(value, i);
    }
}
