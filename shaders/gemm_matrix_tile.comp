// Y = alpha A B + beta C for devices with cooperative matrices, any strides, by tiles of
// matrix_tile.glsl.
//   operands   0: A, 1: B, 2: C (any address where there is none), 3: Y, overlapping no other
//   parameters see gemm_problem.glsl
// Workgroups: ceil(n / 128), ceil(m / 128), any number of products each in z.
#version 460
#extension GL_GOOGLE_include_directive : require
#pragma use_vulkan_memory_model
#extension GL_KHR_memory_scope_semantics : require
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_EXT_shader_16bit_storage : require
#extension GL_EXT_control_flow_attributes : require

layout(local_size_x_id = 0) in;  // 8 subgroups
#include "push_block.glsl"
#include "accumulate.glsl"
#include "gemm_problem.glsl"
#include "epilogue.glsl"
#include "gemm_store.glsl"
#include "matrix.glsl"

layout(constant_id = 5) const bool kIsBWhole = false;  // as kIsAWhole
layout(constant_id = 6) const bool kIsAByColumn = false;
layout(constant_id = 7) const bool kIsBByColumn = false;
#include "matrix_tile.glsl"

// Of the product at hand.
uint product;
uvec4 origins;

void load_tiles(uvec2 corner, uint depth) {
    GemmProblem problem = GemmProblem(push.parameters);
    if (kIsAByColumn) {
        load_tile(Lines(operand(0u), origins.x, problem.a_k, problem.a_row, problem.k, problem.m),
                  uvec2(depth, corner.y), kTile / kUnitNumbers, kIsAWhole, 0u);
    } else {
        load_tile(Lines(operand(0u), origins.x, problem.a_row, problem.a_k, problem.m, problem.k),
                  uvec2(corner.y, depth), kDepth / kUnitNumbers, kIsAWhole, 0u);
    }
    if (kIsBByColumn) {
        load_tile(Lines(operand(1u), origins.y, problem.b_column, problem.b_k, problem.n, problem.k),
                  uvec2(corner.x, depth), kDepth / kUnitNumbers, kIsBWhole, kTileUnits);
    } else {
        load_tile(Lines(operand(1u), origins.y, problem.b_k, problem.b_column, problem.k, problem.n),
                  uvec2(depth, corner.x), kTile / kUnitNumbers, kIsBWhole, kTileUnits);
    }
}

void store_result(uvec2 at, SUM sum) {
    store(GemmProblem(push.parameters), origins, product, at, sum);
}

void main() {
    GemmProblem problem = GemmProblem(push.parameters);
    for (product = gl_WorkGroupID.z; product < problem.batch_count; product += gl_NumWorkGroups.z) {
        origins = gemm_origins(problem, product);
        multiply_tiles(gl_WorkGroupID.xy * kTile, problem.k);
    }
}
