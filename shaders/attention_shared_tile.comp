// Y = softmax(f(Q K^T)) V for devices that are no CPUs, any strides. A workgroup of 16 x 16 does 32 rows of
// Q and 64 columns of Y: 32 keys at a time, whose scores and weights are in shared memory, as are the
// parts of Q, K and V that they need. Scores are never stored elsewhere: sums are taken relative to the
// largest score so far, and scaled where a larger one comes. Subgroups may have any size.
//   operands   0: Q, 1: K, 2: V, 3: Y, overlapping no other
//   parameters see attention_problem.glsl
// Workgroups: ceil(columns / 64), ceil(rows / 32), any number of products in z.
// One-pass softmax: Milakov & Gimelshein, arXiv:1805.02867; with the product: Dao et al., 2205.14135.
#version 460
#extension GL_GOOGLE_include_directive : require

layout(local_size_x = 16, local_size_y = 16) in;
#extension GL_EXT_control_flow_attributes : require
#include "push_block.glsl"
#include "accumulate.glsl"
#include "attention_problem.glsl"
#include "epilogue.glsl"

const uint kRows = 32;
const uint kKeys = 32;
const uint kDepth = 16;  // of columns of Q and K, and of rows of V, at a time
const uint kColumns = 64;
const uint kSide = 16;
const uint kInvocations = 256;
const uint kRowParts = 8;  // invocations of a row of scores
const uint kPartKeys = kKeys / kRowParts;

// By depth, so that what one step of a product needs is one row of each.
shared float q_tile[kDepth][kRows];
shared float k_tile[kDepth][kKeys];
shared float v_tile[kDepth][kColumns];
shared float weights[kRows][kKeys + 1];
shared float partials[kRows][kRowParts];
shared float largest[kRows];
shared float totals[kRows];
shared float corrections[kRows];

// A score as it would be stored, after f. In element types of 16 bits scores are rounded.
float score_of(float sum, uint index) {
    return widen(epilogue(sum, index));
}

// Elements outside are 0, which adds nothing.
void load_rows(AttentionProblem problem, uvec4 origins, uint row, uint first, uint depth) {
    ElementsIn q = ElementsIn(operand(0u));
    ElementsIn k = ElementsIn(operand(1u));
    for (uint i = gl_LocalInvocationIndex; i < kRows * kDepth; i += kInvocations) {
        // Neighbouring invocations read along a row, which is dense mostly.
        const uint at = i / kDepth;
        const uint own = depth + i % kDepth;
        q_tile[i % kDepth][at] = row + at < problem.rows && own < problem.depth
            ? widen(q.at[origins.x + (row + at) * problem.q_row + own * problem.q_depth]) : 0.0;
        k_tile[i % kDepth][at] = first + at < problem.keys && own < problem.depth
            ? widen(k.at[origins.y + (first + at) * problem.k_key + own * problem.k_depth]) : 0.0;
    }
}

void load_values(AttentionProblem problem, uvec4 origins, uint first, uint column) {
    ElementsIn v = ElementsIn(operand(2u));
    for (uint i = gl_LocalInvocationIndex; i < kColumns * kDepth; i += kInvocations) {
        const uint key = first + i / kColumns;
        const uint own = column + i % kColumns;
        v_tile[i / kColumns][i % kColumns] = key < problem.keys && own < problem.columns
            ? widen(v.at[origins.z + key * problem.v_key + own * problem.v_column]) : 0.0;
    }
}

// The scores of 32 rows and keys; each invocation does two of each.
void multiply(AttentionProblem problem, uvec4 origins, uint product, uint row, uint first) {
    const uvec2 own = gl_LocalInvocationID.xy;
    float sums[2][2] = float[2][2](float[2](0.0, 0.0), float[2](0.0, 0.0));
    for (uint depth = 0u; depth < problem.depth; depth += kDepth) {
        load_rows(problem, origins, row, first, depth);
        barrier();
        for (uint i = 0u; i < kDepth; ++i) {
            [[unroll]] for (uint j = 0u; j < 4u; ++j) {
                sums[j / 2u][j % 2u] +=
                    q_tile[i][own.y + j / 2u * kSide] * k_tile[i][own.x + j % 2u * kSide];
            }
        }
        barrier();
    }
    [[unroll]] for (uint j = 0u; j < 4u; ++j) {
        const uvec2 at = own + kSide * uvec2(j % 2u, j / 2u);
        const bool is_inside = row + at.y < problem.rows && first + at.x < problem.keys;
        const uint index = (product * problem.rows + row + at.y) * problem.keys + first + at.x;
        float score = NEGATIVE_INFINITY;
        if (is_inside) {
            score = score_of(sums[j / 2u][j % 2u], index);
        }
        weights[at.y][at.x] = score;
    }
    barrier();
}

// Scores become weights; kRowParts invocations do a row.
void weigh() {
    const uint row = gl_LocalInvocationIndex / kRowParts;
    const uint part = gl_LocalInvocationIndex % kRowParts;
    float best = NEGATIVE_INFINITY;
    for (uint i = 0u; i < kPartKeys; ++i) {
        const float score = weights[row][part * kPartKeys + i];
        best = score > best ? score : best;
    }
    partials[row][part] = best;
    const float before = largest[row];
    barrier();
    best = before;
    for (uint i = 0u; i < kRowParts; ++i) {
        best = partials[row][i] > best ? partials[row][i] : best;
    }
    barrier();
    const float shift = attention_shift(best);
    float total = 0.0;
    for (uint i = 0u; i < kPartKeys; ++i) {
        const uint key = part * kPartKeys + i;
        weights[row][key] = exp(weights[row][key] - shift);
        total += weights[row][key];
    }
    partials[row][part] = total;
    barrier();
    if (part == 0u) {
        const float correction = exp(before - shift);
        total = totals[row] * correction;
        for (uint i = 0u; i < kRowParts; ++i) {
            total += partials[row][i];
        }
        largest[row] = best;
        corrections[row] = correction;
        totals[row] = total;
    }
    barrier();
}

void main() {
    AttentionProblem problem = AttentionProblem(push.parameters);
    const uint row = gl_WorkGroupID.y * kRows;
    const uint column = gl_WorkGroupID.x * kColumns;
    const uvec2 own = gl_LocalInvocationID.xy;
    for (uint product = gl_WorkGroupID.z; product < problem.batch_count; product += gl_NumWorkGroups.z) {
        const uvec4 origins = attention_origins(problem, product);
        if (gl_LocalInvocationIndex < kRows) {
            largest[gl_LocalInvocationIndex] = NEGATIVE_INFINITY;
            totals[gl_LocalInvocationIndex] = 0.0;
        }
        float sums[2][4];
        [[unroll]] for (uint i = 0u; i < 8u; ++i) {
            sums[i / 4u][i % 4u] = 0.0;
        }
        barrier();
        for (uint first = 0u; first < problem.keys; first += kKeys) {
            multiply(problem, origins, product, row, first);
            weigh();
            [[unroll]] for (uint i = 0u; i < 8u; ++i) {
                sums[i / 4u][i % 4u] *= corrections[own.y + i / 4u * kSide];
            }
            for (uint keys = 0u; keys < kKeys; keys += kDepth) {
                load_values(problem, origins, first + keys, column);
                barrier();
                for (uint i = 0u; i < kDepth; ++i) {
                    [[unroll]] for (uint j = 0u; j < 8u; ++j) {
                        sums[j / 4u][j % 4u] += weights[own.y + j / 4u * kSide][keys + i] *
                                                v_tile[i][own.x + j % 4u * kSide];
                    }
                }
                barrier();
            }
        }
        ElementsOut y = ElementsOut(operand(3u));
        [[unroll]] for (uint i = 0u; i < 8u; ++i) {
            const uvec2 at = uvec2(column, row) + own + kSide * uvec2(i % 4u, i / 4u);
            if (at.x < problem.columns && at.y < problem.rows) {
                const float value = sums[i / 4u][i % 4u] / totals[at.y - row];
                y.at[origins.w + at.y * problem.y_row + at.x] = narrow(value);
            }
        }
        barrier();
    }
}
