// Rows that begin anywhere, from windows of four floats. Mesa's device gathers eight single floats in
// about the time of sixteen that it loads as texels (docs/measurements/vulkan.md).
#extension GL_EXT_control_flow_attributes : require

// Defines void NAME(int at, out float values[COUNT]), which reads the floats from `at` on; those
// outside of the window are anything. Whole texels, and then as many floats are left out as `at` lies
// behind the first one's begin.
#define SHIFTED_TEXELS(NAME, WINDOW, COUNT)                                                   \
    void NAME(int at, out float values[COUNT]) {                                              \
        const int last = textureSize(WINDOW) - 1;                                             \
        float all[(COUNT + 6u) / 4u * 4u];                                                    \
        [[unroll]] for (uint t = 0u; t < (COUNT + 6u) / 4u; ++t) {                            \
            const vec4 texel = texelFetch(WINDOW, clamp((at >> 2) + int(t), 0, last));        \
            [[unroll]] for (uint j = 0u; j < 4u; ++j) {                                       \
                all[t * 4u + j] = texel[j];                                                   \
            }                                                                                 \
        }                                                                                     \
        [[unroll]] for (uint i = 0u; i < COUNT + 2u; ++i) {                                   \
            all[i] = (at & 1) != 0 ? all[i + 1u] : all[i];                                    \
        }                                                                                     \
        [[unroll]] for (uint i = 0u; i < COUNT; ++i) {                                        \
            values[i] = (at & 2) != 0 ? all[i + 2u] : all[i];                                 \
        }                                                                                     \
    }
