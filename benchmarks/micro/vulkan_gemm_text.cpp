#include "vulkan_gemm_text.h"

#include <fmt/core.h>

namespace leat::vulkan {
namespace {

constexpr uint32_t kA = 1;
constexpr uint32_t kB = 2;

// push_block.glsl without the table of addresses: these operands never lie elsewhere.
constexpr const char* kPushText = R"(#version 460
#extension GL_EXT_buffer_reference : require
#extension GL_EXT_buffer_reference_uvec2 : require
#extension GL_EXT_control_flow_attributes : require
#extension GL_EXT_scalar_block_layout : require
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_shuffle : require
layout(push_constant, scalar) uniform PushBlock {
    uvec2 parameters;
    uvec2 operands[8];
    uint indirect;
    uint scalars[13];
} push;
)";

// The operand's macro NAME(i), element i.
std::string operand_text(char name, uint32_t operand, bool is_window, const char* type) {
    const char* access = name == 'Y' ? "writeonly" : "readonly";
    const uint32_t alignment = type[0] == 'v' ? 16 : 4;
    if (is_window) {
        return fmt::format(
            "layout(set = 0, binding = {0}) uniform samplerBuffer {1}_at;\n"
            "#define {1}(i) texelFetch({1}_at, int(i)){2}\n",
            operand, name, type[0] == 'v' ? "" : ".x");
    }
    return fmt::format(
        "layout(buffer_reference, scalar, buffer_reference_align = {4}) {1} buffer {2}Block {{ {3} "
        "at[]; }};\n"
        "#define {2}(i) {2}Block(push.operands[{0}]).at[i]\n",
        operand, access, name, type, alignment);
}

constexpr const char* kTileText = R"(
const uint kParts = (ROWS + LANES - 1) / LANES;
void main() {
    const uint n = push.scalars[0] / 4u;  // in vec4
    const uint k = push.scalars[1];
    const uint column = gl_GlobalInvocationID.x * VECTORS;
    const uint row = gl_WorkGroupID.y * ROWS;
    const uint lane = gl_SubgroupInvocationID;
    vec4 sums[ROWS][VECTORS];
    [[unroll]] for (uint r = 0u; r < ROWS; ++r) {
        [[unroll]] for (uint v = 0u; v < VECTORS; ++v) {
            sums[r][v] = vec4(0.0);
        }
    }
    for (uint i = 0u; i < k; i += STEPS) {
        [[unroll]] for (uint s = 0u; s < STEPS; ++s) {
            vec4 b[VECTORS];
            [[unroll]] for (uint v = 0u; v < VECTORS; ++v) {
                b[v] = B((i + s) * n + column + v);
            }
#ifdef SHUFFLES
            [[unroll]] for (uint part = 0u; part < kParts; ++part) {
                const float own = A((row + min(part * LANES + lane, ROWS - 1u)) * k + i + s);
                [[unroll]] for (uint l = 0u; l < LANES; ++l) {
                    const uint r = part * LANES + l;
                    if (r < ROWS) {
                        const vec4 value = vec4(subgroupShuffle(own, l));
                        [[unroll]] for (uint v = 0u; v < VECTORS; ++v) {
                            sums[r][v] = fma(value, b[v], sums[r][v]);
                        }
                    }
                }
            }
#else
            [[unroll]] for (uint r = 0u; r < ROWS; ++r) {
                const vec4 value = vec4(A((row + r) * k + i + s));
                [[unroll]] for (uint v = 0u; v < VECTORS; ++v) {
                    sums[r][v] = fma(value, b[v], sums[r][v]);
                }
            }
#endif
        }
    }
    [[unroll]] for (uint r = 0u; r < ROWS; ++r) {
        [[unroll]] for (uint v = 0u; v < VECTORS; ++v) {
            Y((row + r) * n + column + v) = sums[r][v];
        }
    }
}
)";

constexpr const char* kTextbookText = R"(
layout(local_size_x = 16, local_size_y = 16) in;
shared float a_tile[16][64];
shared float b_tile[16][64];
void main() {
    const uint n = push.scalars[0];
    const uint k = push.scalars[1];
    const uvec2 corner = gl_WorkGroupID.xy * 64u;
    const uvec2 own = gl_LocalInvocationID.xy;
    float sums[4][4];
    [[unroll]] for (uint i = 0u; i < 16u; ++i) {
        sums[i / 4u][i % 4u] = 0.0;
    }
    for (uint depth = 0u; depth < k; depth += 16u) {
        for (uint i = gl_LocalInvocationIndex; i < 1024u; i += 256u) {
            a_tile[i % 16u][i / 16u] = A((corner.y + i / 16u) * k + depth + i % 16u);
            b_tile[i / 64u][i % 64u] = B((depth + i / 64u) * n + corner.x + i % 64u);
        }
        barrier();
        for (uint i = 0u; i < 16u; ++i) {
            [[unroll]] for (uint r = 0u; r < 4u; ++r) {
                [[unroll]] for (uint c = 0u; c < 4u; ++c) {
                    sums[r][c] += a_tile[i][own.y * 4u + r] * b_tile[i][own.x * 4u + c];
                }
            }
        }
        barrier();
    }
    [[unroll]] for (uint i = 0u; i < 16u; ++i) {
        Y((corner.y + own.y * 4u + i / 4u) * n + corner.x + own.x * 4u + i % 4u) = sums[i / 4u][i % 4u];
    }
}
)";

}  // namespace

std::string name_of(const GemmVariant& variant) {
    return fmt::format(
        "{}x{} k{} {} {}{}{}", variant.rows, variant.vectors, variant.steps,
        variant.shuffles ? "shuffle" : "loads", variant.windows == 0 ? "addresses" : "windows ",
        (variant.windows & kA) != 0 ? "A" : "", (variant.windows & kB) != 0 ? "B" : "");
}

std::string text_of(const GemmVariant& variant, uint32_t lanes) {
    return fmt::format(
        "{}layout(local_size_x = {}) in;\n#define LANES {}u\n#define ROWS {}u\n#define VECTORS "
        "{}u\n"
        "#define STEPS {}u\n{}{}{}{}{}",
        kPushText, lanes, lanes, variant.rows, variant.vectors, variant.steps,
        variant.shuffles ? "#define SHUFFLES\n" : "",
        operand_text('A', 0, (variant.windows & kA) != 0, "float"),
        operand_text('B', 1, (variant.windows & kB) != 0, "vec4"),
        operand_text('Y', 2, false, "vec4"), kTileText);
}

std::array<uint32_t, 3> groups_of(const GemmVariant& variant,
                                  uint32_t lanes,
                                  uint32_t m,
                                  uint32_t n) {
    return {n / (4 * variant.vectors * lanes), m / variant.rows, 1};
}

std::vector<GemmVariant> gemm_sweep() {
    std::vector<GemmVariant> variants;
    variants.reserve(128);
    for (const uint32_t windows : {0U, kA | kB}) {
        for (const uint32_t rows : {4U, 6U, 8U, 12U, 16U, 24U, 32U}) {
            for (const uint32_t vectors : {1U, 2U, 3U}) {
                variants.push_back({rows, vectors, 1, true, windows});
                variants.push_back({rows, vectors, 2, true, windows});
            }
        }
        for (const uint32_t rows : {4U, 8U, 16U}) {
            variants.push_back({rows, 2, 1, false, windows});
            variants.push_back({rows, 3, 1, false, windows});
        }
        variants.push_back({8, 2, 4, true, windows});
        variants.push_back({16, 2, 4, true, windows});
        variants.push_back({24, 3, 4, true, windows});
    }
    // Which operand it is that wants a window.
    for (const uint32_t windows : {kA, kB}) {
        variants.push_back({16, 2, 1, true, windows});
        variants.push_back({24, 3, 1, true, windows});
    }
    return variants;
}

std::string textbook_text() {
    return fmt::format("{}{}{}{}{}", kPushText, operand_text('A', 0, true, "float"),
                       operand_text('B', 1, true, "float"), operand_text('Y', 2, false, "float"),
                       kTextbookText);
}

}  // namespace leat::vulkan
