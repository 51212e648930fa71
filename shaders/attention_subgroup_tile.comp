// Y = softmax(f(Q K^T)) V, f32, for devices that are CPUs: elements of a row of Q, K and V beside each
// other, depth and columns multiples of 4, of columns at most LANE_COLUMNS for each lane. A subgroup does
// TILE_ROWS rows of Q. Of scores a lane holds those of kKeys keys at a time, whose rows of K it reads by
// itself; what all lanes need of Q each lane loads a part of, and the subgroup shuffles. Of Y a lane holds
// kVectors times four columns in registers, to which weights are shuffled. Scores are never stored: sums
// are taken relative to the largest score so far, and scaled where a larger one comes.
// Q, K and V are addresses; with WINDOWS texel buffers of four floats, which such devices read several
// times faster: then strides are multiples of 4.
//   operands   0: Q, 1: K, 2: V, 3: Y, overlapping no other
//   parameters see attention_problem.glsl; q_depth, k_depth and v_column are 1
//   constants  0: workgroup size in x, the subgroup's, at least 8
// Workgroups: 1, ceil(rows / TILE_ROWS), any number of products in z.
// One-pass softmax: Milakov & Gimelshein, arXiv:1805.02867; with the product: Dao et al., 2205.14135.
#version 460
#extension GL_GOOGLE_include_directive : require

layout(local_size_x_id = 0) in;
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_shader_explicit_arithmetic_types_int64 : require
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_shuffle : require
#include "push_block.glsl"
#include "attention_problem.glsl"
#include "epilogue.glsl"

const uint kKeys = 4;   // of a lane
const uint kLanes = 8;  // that hold different rows of Q, and that a loop over lanes does at a time
const uint kVectors = LANE_COLUMNS / 4;
const uint kParts = (TILE_ROWS + kLanes - 1) / kLanes;

#ifdef WINDOWS
layout(set = 0, binding = 0) uniform samplerBuffer q_window;
layout(set = 0, binding = 1) uniform samplerBuffer k_window;
layout(set = 0, binding = 2) uniform samplerBuffer v_window;
vec4 part_of_q(uvec2 address, uint at) {
    return texelFetch(q_window, int(at / 4u));
}
vec4 part_of_k(uvec2 address, uint at) {
    return texelFetch(k_window, int(at / 4u));
}
vec4 part_of_v(uvec2 address, uint at) {
    return texelFetch(v_window, int(at / 4u));
}
#else
layout(buffer_reference, scalar, buffer_reference_align = 4) readonly buffer UnalignedVec4sIn {
    vec4 vector;
};
vec4 part_of_q(uvec2 address, uint at) {
    const uint64_t begin = packUint2x32(address) + uint64_t(at) * 4ul;
    return UnalignedVec4sIn(unpackUint2x32(begin)).vector;
}
vec4 part_of_k(uvec2 address, uint at) {
    return part_of_q(address, at);
}
vec4 part_of_v(uvec2 address, uint at) {
    return part_of_q(address, at);
}
#endif

// What a subgroup works on.
struct Tile {
    uint product;
    uint row;
    uvec4 origins;
    uvec2 q;
    uvec2 k;
    uvec2 v;
    uint columns[kVectors];
};

float largest_of_lanes(float value) {
    for (uint distance = 1u; distance < gl_SubgroupSize; distance <<= 1) {
        const float other = subgroupShuffleXor(value, distance);
        value = other > value ? other : value;
    }
    return value;
}
float sum_of_lanes(float value) {
    for (uint distance = 1u; distance < gl_SubgroupSize; distance <<= 1) {
        value += subgroupShuffleXor(value, distance);
    }
    return value;
}

// Key c of the lane is first + c lanes + lane; keys beyond the last read the last one.
uint key_of(uint first, uint c) {
    return first + c * gl_SubgroupSize + gl_SubgroupInvocationID;
}

void products_of_rows(AttentionProblem problem, Tile tile, uint first, out vec4 scores[TILE_ROWS]) {
    [[unroll]] for (uint r = 0u; r < TILE_ROWS; ++r) {
        scores[r] = vec4(0.0);
    }
    uint q_at[kParts];
    [[unroll]] for (uint part = 0u; part < kParts; ++part) {
        const uint own = tile.row + part * kLanes + gl_SubgroupInvocationID % kLanes;
        q_at[part] = tile.origins.x + min(own, problem.rows - 1u) * problem.q_row;
    }
    uint k_at[kKeys];
    [[unroll]] for (uint c = 0u; c < kKeys; ++c) {
        k_at[c] = tile.origins.y + min(key_of(first, c), problem.keys - 1u) * problem.k_key;
    }
    const uint depth = problem.depth;
    for (uint i = 0u; i < depth; i += 4u) {
        vec4 own[kParts];
        [[unroll]] for (uint part = 0u; part < kParts; ++part) {
            own[part] = part_of_q(tile.q, q_at[part] + i);
        }
        [[unroll]] for (uint c = 0u; c < kKeys; ++c) {
            const vec4 key = part_of_k(tile.k, k_at[c] + i);
            [[unroll]] for (uint r = 0u; r < TILE_ROWS; ++r) {
                [[unroll]] for (uint s = 0u; s < 4u; ++s) {
                    scores[r][c] = fma(subgroupShuffle(own[r / kLanes][s], r % kLanes), key[s], scores[r][c]);
                }
            }
        }
    }
}

// Scores become weights relative to the largest score so far; `largest`, `totals` and `corrections` of
// row r are in lane r % kLanes. Row by row in a loop, which shifts the rows through the first one, because
// the code of f for each row costs the driver's compiler more than the shifts.
void weigh(AttentionProblem problem, Tile tile, uint first, inout vec4 scores[TILE_ROWS],
           inout float largest[kParts], inout float totals[kParts], out float corrections[kParts]) {
    const uint keys = problem.keys;
    const uint rows = problem.rows;
    [[unroll]] for (uint part = 0u; part < kParts; ++part) {
        corrections[part] = 0.0;
        const uint end = min(kLanes, TILE_ROWS - part * kLanes);
        [[dont_unroll]] for (uint r = 0u; r < end; ++r) {
            const uint row = min(tile.row + part * kLanes + r, rows - 1u);
            const EpilogueRow along = epilogue_row((tile.product * rows + row) * keys);
            vec4 values = scores[0];
            float best = NEGATIVE_INFINITY;
            [[unroll]] for (uint c = 0u; c < kKeys; ++c) {
                const uint key = key_of(first, c);
                const float value = epilogue_along(values[c], along, min(key, keys - 1u));
                values[c] = key < keys ? value : NEGATIVE_INFINITY;
                best = values[c] > best ? values[c] : best;
            }
            best = largest_of_lanes(best);
            const float before = subgroupShuffle(largest[part], r);
            best = best > before ? best : before;
            const float shift = attention_shift(best);
            const float correction = exp(before - shift);
            const vec4 weights = exp(values - shift);
            const float total = sum_of_lanes(weights.x + weights.y + weights.z + weights.w);
            if (gl_SubgroupInvocationID % kLanes == r) {
                largest[part] = best;
                corrections[part] = correction;
                totals[part] = totals[part] * correction + total;
            }
            [[unroll]] for (uint i = 1u; i < TILE_ROWS; ++i) {
                scores[i - 1u] = scores[i];
            }
            scores[TILE_ROWS - 1u] = weights;
        }
    }
}

// Adds the keys' rows of V.
void add_values(AttentionProblem problem, Tile tile, uint first, inout vec4 weights[TILE_ROWS],
                inout vec4 sums[TILE_ROWS][kVectors]) {
    const uint keys = problem.keys;
    const uint count = min(kKeys, (keys - first + gl_SubgroupSize - 1u) / gl_SubgroupSize);
    [[dont_unroll]] for (uint c = 0u; c < count; ++c) {
        for (uint lane = 0u; lane < gl_SubgroupSize; lane += kLanes) {
            [[unroll]] for (uint j = 0u; j < kLanes; ++j) {
                const uint key = first + c * gl_SubgroupSize + lane + j;
                const uint at = tile.origins.z + min(key, keys - 1u) * problem.v_key;
                vec4 row[kVectors];
                [[unroll]] for (uint v = 0u; v < kVectors; ++v) {
                    row[v] = part_of_v(tile.v, at + tile.columns[v]);
                    // Nothing, also where the last key's are infinite.
                    row[v] = key < keys ? row[v] : vec4(0.0);
                }
                [[unroll]] for (uint r = 0u; r < TILE_ROWS; ++r) {
                    const vec4 weight = vec4(subgroupShuffle(weights[r].x, lane + j));
                    [[unroll]] for (uint v = 0u; v < kVectors; ++v) {
                        sums[r][v] = fma(weight, row[v], sums[r][v]);
                    }
                }
            }
        }
        [[unroll]] for (uint r = 0u; r < TILE_ROWS; ++r) {
            weights[r] = weights[r].yzwx;
        }
    }
}

void store(AttentionProblem problem, Tile tile, float totals[kParts], vec4 sums[TILE_ROWS][kVectors]) {
    FloatsOut y = FloatsOut(operand(3u));
    const uint end = min(TILE_ROWS, problem.rows - tile.row);
    [[dont_unroll]] for (uint r = 0u; r < end; ++r) {
        float total = subgroupShuffle(totals[0], r % kLanes);
        [[unroll]] for (uint part = 1u; part < kParts; ++part) {
            total = r / kLanes == part ? subgroupShuffle(totals[part], r % kLanes) : total;
        }
        const uint at = tile.origins.w + (tile.row + r) * problem.y_row;
        [[unroll]] for (uint v = 0u; v < kVectors; ++v) {
            [[unroll]] for (uint j = 0u; j < 4u; ++j) {
                y.at[at + tile.columns[v] + j] = sums[0][v][j] / total;
            }
        }
        [[unroll]] for (uint i = 1u; i < TILE_ROWS; ++i) {
            sums[i - 1u] = sums[i];
        }
    }
}

void attend(AttentionProblem problem, Tile tile) {
    vec4 sums[TILE_ROWS][kVectors];
    [[unroll]] for (uint r = 0u; r < TILE_ROWS; ++r) {
        [[unroll]] for (uint v = 0u; v < kVectors; ++v) {
            sums[r][v] = vec4(0.0);
        }
    }
    float largest[kParts];
    float totals[kParts];
    [[unroll]] for (uint part = 0u; part < kParts; ++part) {
        largest[part] = NEGATIVE_INFINITY;
        totals[part] = 0.0;
    }
    const uint keys = problem.keys;
    [[dont_unroll]] for (uint first = 0u; first < keys; first += kKeys * gl_SubgroupSize) {
        vec4 weights[TILE_ROWS];
        float corrections[kParts];
        products_of_rows(problem, tile, first, weights);
        weigh(problem, tile, first, weights, largest, totals, corrections);
        [[unroll]] for (uint r = 0u; r < TILE_ROWS; ++r) {
            const float correction = subgroupShuffle(corrections[r / kLanes], r % kLanes);
            [[unroll]] for (uint v = 0u; v < kVectors; ++v) {
                sums[r][v] *= correction;
            }
        }
        add_values(problem, tile, first, weights, sums);
    }
    store(problem, tile, totals, sums);
}

void main() {
    AttentionProblem problem = AttentionProblem(push.parameters);
    Tile tile;
    tile.row = gl_WorkGroupID.y * TILE_ROWS;
    tile.q = operand(0u);
    tile.k = operand(1u);
    tile.v = operand(2u);
    // Columns beyond the last ones are computed with these, by several lanes alike: no lane may leave,
    // since all take part in shuffles.
    [[unroll]] for (uint v = 0u; v < kVectors; ++v) {
        const uint vector = v * gl_SubgroupSize + gl_SubgroupInvocationID;
        tile.columns[v] = min(vector * 4u, problem.columns - 4u);
    }
    for (uint product = gl_WorkGroupID.z; product < problem.batch_count; product += gl_NumWorkGroups.z) {
        tile.product = product;
        tile.origins = attention_origins(problem, product);
        attend(problem, tile);
    }
}
