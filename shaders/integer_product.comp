// Y = (A - a_zero)(B - b_zero) of bytes, in i32 that wrap; an invocation computes tiles of 4 rows and
// 4 columns.
//   operands   0: A, 1: B, 2: a_zero, 3: b_zero (any address where there is none), 4: Y, dense
//   parameters see gemm_problem.glsl; A and B dense by rows, no S; c_batch and y_batch are strides of
//              a_zero and b_zero
//   scalars    0: 1 where there is a_zero, 2 where it has one for each row; 1: b_zero by columns
//   constants  0: workgroup size; types (leat's DType): 1: A, 2: B; 3: 1 where K and the columns are
//              multiples of 4, so that bytes are read by words
// Any number of workgroups in x does.
#version 460
#extension GL_GOOGLE_include_directive : require

layout(local_size_x_id = 0) in;
#include "push_block.glsl"
#include "quantized_numbers.glsl"
#include "gemm_problem.glsl"

layout(constant_id = 1) const uint kA = 2;
layout(constant_id = 2) const uint kB = 2;
layout(constant_id = 3) const uint kHasWords = 0;

// What the tiles read: rows and columns beyond the matrix repeat the last one.
struct Tile {
    uvec4 a_at;
    uvec4 columns;
    uint b_at;
    ivec4 a_zeros;
    ivec4 b_zeros;
};

ivec4 zeros_of(uvec2 zeros, uint origin, uvec4 at, uint count, uint type) {
    if (count == 0u) {
        return ivec4(0);
    }
    const uvec4 i = origin + (count == 2u ? at : uvec4(0u));
    return ivec4(load_integer(zeros, i.x, type), load_integer(zeros, i.y, type),
                 load_integer(zeros, i.z, type), load_integer(zeros, i.w, type));
}

// Four steps of k.
void add_words(uvec2 a, uvec2 b, Tile tile, uint k, uint n, inout ivec4 sums[4]) {
    const uint first = (tile.b_at + k * n + tile.columns.x) >> 2;
    const uint step = n >> 2;
    const ivec4 b0 = bytes_of(Elements32(b).at[first], kB) - tile.b_zeros;
    const ivec4 b1 = bytes_of(Elements32(b).at[first + step], kB) - tile.b_zeros;
    const ivec4 b2 = bytes_of(Elements32(b).at[first + 2u * step], kB) - tile.b_zeros;
    const ivec4 b3 = bytes_of(Elements32(b).at[first + 3u * step], kB) - tile.b_zeros;
    const uvec4 words = (tile.a_at + k) >> 2;
    const ivec4 a0 = bytes_of(Elements32(a).at[words.x], kA) - tile.a_zeros.x;
    const ivec4 a1 = bytes_of(Elements32(a).at[words.y], kA) - tile.a_zeros.y;
    const ivec4 a2 = bytes_of(Elements32(a).at[words.z], kA) - tile.a_zeros.z;
    const ivec4 a3 = bytes_of(Elements32(a).at[words.w], kA) - tile.a_zeros.w;
    sums[0] += a0.x * b0 + a0.y * b1 + a0.z * b2 + a0.w * b3;
    sums[1] += a1.x * b0 + a1.y * b1 + a1.z * b2 + a1.w * b3;
    sums[2] += a2.x * b0 + a2.y * b1 + a2.z * b2 + a2.w * b3;
    sums[3] += a3.x * b0 + a3.y * b1 + a3.z * b2 + a3.w * b3;
}

void add_step(uvec2 a, uvec2 b, Tile tile, uint k, uint n, inout ivec4 sums[4]) {
    const uvec4 b_at = tile.b_at + k * n + tile.columns;
    const ivec4 row = ivec4(load_integer(b, b_at.x, kB), load_integer(b, b_at.y, kB),
                            load_integer(b, b_at.z, kB), load_integer(b, b_at.w, kB)) -
                      tile.b_zeros;
    const uvec4 at = tile.a_at + k;
    sums[0] += (load_integer(a, at.x, kA) - tile.a_zeros.x) * row;
    sums[1] += (load_integer(a, at.y, kA) - tile.a_zeros.y) * row;
    sums[2] += (load_integer(a, at.z, kA) - tile.a_zeros.z) * row;
    sums[3] += (load_integer(a, at.w, kA) - tile.a_zeros.w) * row;
}

void store_row(uvec2 y, uint at, ivec4 sums, uint count) {
    const uvec4 words = uvec4(sums);
    Elements32(y).at[at] = words.x;
    if (count > 1u) {
        Elements32(y).at[at + 1u] = words.y;
    }
    if (count > 2u) {
        Elements32(y).at[at + 2u] = words.z;
    }
    if (count > 3u) {
        Elements32(y).at[at + 3u] = words.w;
    }
}

void main() {
    GemmProblem problem = GemmProblem(push.parameters);
    const uint m = problem.m;
    const uint n = problem.n;
    const uint k = problem.k;
    const uint row_tiles = (m + 3u) / 4u;
    const uint column_tiles = (n + 3u) / 4u;
    const uint count = row_tiles * column_tiles * problem.batch_count;
    const uvec2 a = operand(0u);
    const uvec2 b = operand(1u);
    const uvec2 y = operand(4u);
    for (uint i = linear_id(); i < count; i += linear_count()) {
        const uint product = i / column_tiles / row_tiles;
        const uvec4 origins = gemm_origins(problem, product);
        const uint first_row = i / column_tiles % row_tiles * 4u;
        const uint first_column = i % column_tiles * 4u;
        const uvec4 rows = min(first_row + uvec4(0u, 1u, 2u, 3u), uvec4(m - 1u));
        Tile tile;
        tile.columns = min(first_column + uvec4(0u, 1u, 2u, 3u), uvec4(n - 1u));
        tile.a_at = origins.x + rows * k;
        tile.b_at = origins.y;
        tile.a_zeros = zeros_of(operand(2u), origins.z, rows, push.scalars[0], kA);
        tile.b_zeros = zeros_of(operand(3u), origins.w, tile.columns, push.scalars[1], kB);
        ivec4 sums[4] = ivec4[4](ivec4(0), ivec4(0), ivec4(0), ivec4(0));
        if (kHasWords != 0u) {
            for (uint p = 0u; p < k; p += 4u) {
                add_words(a, b, tile, p, n, sums);
            }
        } else {
            for (uint p = 0u; p < k; ++p) {
                add_step(a, b, tile, p, n, sums);
            }
        }
        const uint columns = min(n - first_column, 4u);
        const uint at = (product * m + first_row) * n + first_column;
        store_row(y, at, sums[0], columns);
        if (first_row + 1u < m) {
            store_row(y, at + n, sums[1], columns);
        }
        if (first_row + 2u < m) {
            store_row(y, at + 2u * n, sums[2], columns);
        }
        if (first_row + 3u < m) {
            store_row(y, at + 3u * n, sums[3], columns);
        }
    }
}
