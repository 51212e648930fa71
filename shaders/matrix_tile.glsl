// Products of tiles in shared memory by matrices of a subgroup (matrix.glsl): what shaders with
// cooperative matrices have in common. A workgroup of 8 subgroups computes 128 x 128 elements of a
// result, each subgroup 64 x 32 of them, from tiles of A and B, 32 deep. Numbers of 16 bits are
// multiplied as they are; those of 32 bits are rounded to f16 before, finite ones to finite ones.
// After accumulate.glsl and matrix.glsl, and after the shader has said of A and B whether their tiles
// are dense along the depth or across it: A along its rows, B along its columns:
//   kIsAByColumn, kIsBByColumn
// Then the shader has
//   load_tiles     of the tile whose first column and row are `corner`, from `depth` on
//   store_result   column and row of an element of the result, which may lie outside of it
void load_tiles(uvec2 corner, uint depth);
void store_result(uvec2 at, float sum);

// Eight numbers of a line of A at a time: lines begin at multiples of 16 bytes and have whole eights.
layout(constant_id = 4) const bool kIsAWhole = false;

const uint kTile = 128;  // rows of A's tile, columns of B's
const uint kDepth = 32;
const uint kUnits = kTile * kDepth / 8;  // of a tile
// Of a subgroup.
const uint kOwnRows = 64;
const uint kOwnColumns = 32;
const uint kRowMatrices = kOwnRows / kMatrixM;
const uint kColumnMatrices = kOwnColumns / kMatrixN;
// From line to line; one more unit than there is, so that lines begin in other banks.
const uint kDepthStride = kDepth / 8 + 1;
const uint kTileStride = kTile / 8 + 1;

layout(buffer_reference, scalar, buffer_reference_align = 16) readonly buffer UnitsIn {
    uvec4 at[];
};

#ifdef ELEMENT_F32
float in_range(float x) {
    const float kMost = 65504.0;
    return isnan(x) || isinf(x) ? x : clamp(x, -kMost, kMost);
}
uint pack(float low, float high) {
    return packHalf2x16(vec2(in_range(low), in_range(high)));
}
uvec4 whole_unit(uvec2 address, uint first) {
    const vec4 low = uintBitsToFloat(UnitsIn(address).at[first / 4u]);
    const vec4 high = uintBitsToFloat(UnitsIn(address).at[first / 4u + 1u]);
    return uvec4(pack(low.x, low.y), pack(low.z, low.w), pack(high.x, high.y), pack(high.z, high.w));
}
uint half_at(uvec2 address, uint element) {
    return pack(FloatsIn(address).at[element], 0.0);
}
#else
layout(buffer_reference, scalar, buffer_reference_align = 2) readonly buffer HalvesIn {
    uint16_t at[];
};
uvec4 whole_unit(uvec2 address, uint first) {
    return UnitsIn(address).at[first / 8u];
}
uint half_at(uvec2 address, uint element) {
    return uint(HalvesIn(address).at[element]);
}
#endif

// An operand as lines of numbers: `line` of `line_count`, `place` of `place_count` in it.
struct Lines {
    uvec2 address;
    uint origin;
    uint line_stride;
    uint place_stride;
    uint line_count;
    uint place_count;
};

// Numbers outside are 0, which adds nothing.
uvec4 unit_at(Lines lines, uint line, uint place, bool is_whole) {
    uvec4 unit = uvec4(0u);
    if (line >= lines.line_count || place >= lines.place_count) {
        return unit;
    }
    const uint first = lines.origin + line * lines.line_stride;
    if (is_whole) {
        return whole_unit(lines.address, first + place);
    }
    for (uint i = 0u; i < 8u && place + i < lines.place_count; ++i) {
        const uint bits = half_at(lines.address, first + (place + i) * lines.place_stride);
        unit[i / 2u] |= bits << (i % 2u * 16u);
    }
    return unit;
}

// Lines and places of the tile from `corner` on, `units` of eight in each line.
void load_tile(Lines lines, uvec2 corner, uint units, bool is_whole, uint first) {
    for (uint i = gl_LocalInvocationIndex; i < kUnits; i += gl_WorkGroupSize.x) {
        const uvec2 at = uvec2(i / units, i % units);
        tiles[first + at.x * (units + 1u) + at.y] =
            unit_at(lines, corner.x + at.x, corner.y + at.y * 8u, is_whole);
    }
}

// A B of a depth of k.
void multiply_tiles(uvec2 corner, uint depth_end) {
    const uvec2 own = uvec2(gl_SubgroupID % 4u * kOwnColumns, gl_SubgroupID / 4u * kOwnRows);
    MATRIX_SUM sums[kRowMatrices * kColumnMatrices];
    UNROLL for (uint i = 0u; i < kRowMatrices * kColumnMatrices; ++i) {
        CLEAR(sums[i]);
    }
    for (uint depth = 0u; depth < depth_end; depth += kDepth) {
        load_tiles(corner, depth);
        barrier();
        UNROLL for (uint k = 0u; k < kDepth; k += kMatrixK) {
            MATRIX_B b[kColumnMatrices];
            UNROLL for (uint c = 0u; c < kColumnMatrices; ++c) {
                const uint column = own.x + c * kMatrixN;
                if (kIsBByColumn) {
                    LOAD(b[c], kTileUnits + column * kDepthStride + k / 8u, kDepthStride, true);
                } else {
                    LOAD(b[c], kTileUnits + k * kTileStride + column / 8u, kTileStride, false);
                }
            }
            UNROLL for (uint r = 0u; r < kRowMatrices; ++r) {
                const uint row = own.y + r * kMatrixM;
                MATRIX_A a;
                if (kIsAByColumn) {
                    LOAD(a, k * kTileStride + row / 8u, kTileStride, true);
                } else {
                    LOAD(a, row * kDepthStride + k / 8u, kDepthStride, false);
                }
                UNROLL for (uint c = 0u; c < kColumnMatrices; ++c) {
                    MULTIPLY_ADD(a, b[c], sums[r * kColumnMatrices + c]);
                }
            }
        }
        barrier();
    }
    const uint first = gl_SubgroupID * kMatrixResults;
    UNROLL for (uint i = 0u; i < kRowMatrices * kColumnMatrices; ++i) {
        KEEP(sums[i], first);
        subgroupBarrier();
        const uvec2 origin = corner + own + uvec2(i % kColumnMatrices * kMatrixN, i / kColumnMatrices * kMatrixM);
        for (uint e = gl_SubgroupInvocationID; e < kMatrixM * kMatrixN; e += gl_SubgroupSize) {
            store_result(origin + uvec2(e % kMatrixN, e / kMatrixN), results[first + e]);
        }
        subgroupBarrier();
    }
}
