// Y = (A - a_zero)(B - b_zero) of bytes, in i32 that wrap, for devices with cooperative matrices of
// signed bytes, by tiles of matrix_tile.glsl. Zero points are taken from sums of products, by
// without_zeros.
//   operands   0: A, 1: B, 2: a_zero, 3: b_zero (any address where there is none), 4: Y, dense
//   parameters, scalars   see integer_product.comp
//   constants  behind those of the tile: 5: as kIsAWhole; types (leat's DType): 6: A, 7: B
// Workgroups: ceil(n / 128), ceil(m / 128), any number of products each in z.
#version 460
#extension GL_GOOGLE_include_directive : require
#pragma use_vulkan_memory_model
#extension GL_KHR_memory_scope_semantics : require
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_EXT_control_flow_attributes : require

layout(local_size_x_id = 0) in;  // 8 subgroups
#include "push_block.glsl"
#include "quantized_numbers.glsl"
#include "gemm_problem.glsl"
#include "matrix.glsl"

layout(constant_id = 5) const bool kIsBWhole = false;
layout(constant_id = 6) const uint kA = 3;
layout(constant_id = 7) const uint kB = 3;
const bool kIsAByColumn = false;
const bool kIsBByColumn = false;
#include "matrix_tile.glsl"

// Of the product at hand.
uint product;
uvec4 origins;
uvec2 tile_corner;

void load_tiles(uvec2 corner, uint depth) {
    GemmProblem problem = GemmProblem(push.parameters);
    load_tile(Lines(operand(0u), origins.x, problem.k, 1u, problem.m, problem.k, SIGN_FLIP(kA)),
              uvec2(corner.y, depth), kDepth / kUnitNumbers, kIsAWhole, 0u);
    load_tile(Lines(operand(1u), origins.y, problem.n, 1u, problem.k, problem.n, SIGN_FLIP(kB)),
              uvec2(depth, corner.x), kTile / kUnitNumbers, kIsBWhole, kTileUnits);
}

// As a signed byte; `count`: see scalars.
int zero_of(uint operand_index, uint origin, uint i, uint count, uint type) {
    const int zero = count == 0u ? 0 : load_integer(operand(operand_index), origin + (count == 2u ? i : 0u), type);
    return signed_zero(zero, type);
}

void store_result(uvec2 at, SUM sum) {
    GemmProblem problem = GemmProblem(push.parameters);
    if (at.x >= problem.n || at.y >= problem.m) {
        return;
    }
    const int a_zero = zero_of(2u, origins.z, at.y, push.scalars[0], kA);
    const int b_zero = zero_of(3u, origins.w, at.x, push.scalars[1], kB);
    sum = without_zeros(sum, at - tile_corner, a_zero, b_zero, problem.k);
    Elements32(operand(4u)).at[(product * problem.m + at.y) * problem.n + at.x] = uint(sum);
}

void main() {
    GemmProblem problem = GemmProblem(push.parameters);
    tile_corner = gl_WorkGroupID.xy * kTile;
    for (product = gl_WorkGroupID.z; product < problem.batch_count; product += gl_NumWorkGroups.z) {
        origins = gemm_origins(problem, product);
        multiply_tiles(tile_corner, problem.k);
    }
}
