// C[m,n] = A[m,k] * B[k,n], f32, row-major and dense; for devices that are CPUs. Each invocation holds
// a tile of TILE_ROWS rows and two vec4 of C in registers, without shared memory or barriers, which
// cost such a device more than they save.
//   operands  0: A, 1: B, 2: C, aligned to 16 bytes; C overlaps neither
//   scalars   0: m, 1: n, a multiple of 8, 2: k, each below 2^31 with its products
//   constants 0: workgroup size in x (over columns), 1: in y (over rows)
// Workgroups: ceil(n / 8 / size x), ceil(m / TILE_ROWS / size y).
#version 460
#extension GL_GOOGLE_include_directive : require

layout(local_size_x_id = 0, local_size_y_id = 1) in;
#extension GL_EXT_control_flow_attributes : require
#include "push_block.glsl"

void main() {
    const uint m = push.scalars[0];
    const uint n = push.scalars[1];
    const uint k = push.scalars[2];
    const uint column = gl_GlobalInvocationID.x * 2u;  // in vec4
    const uint row = gl_GlobalInvocationID.y * TILE_ROWS;
    if (column * 4u >= n || row >= m) {
        return;
    }
    FloatsIn a = FloatsIn(operand(0u));
    Vec4sIn b = Vec4sIn(operand(1u));
    Vec4sOut c = Vec4sOut(operand(2u));
    const uint columns = n / 4u;
    // Rows beyond the last read the last one, so that the loop has no conditions.
    uint a_at[TILE_ROWS];
    vec4 left[TILE_ROWS];
    vec4 right[TILE_ROWS];
    [[unroll]] for (uint r = 0u; r < TILE_ROWS; ++r) {
        a_at[r] = min(row + r, m - 1u) * k;
        left[r] = vec4(0.0);
        right[r] = vec4(0.0);
    }
    for (uint i = 0u; i < k; ++i) {
        const vec4 b_left = b.at[i * columns + column];
        const vec4 b_right = b.at[i * columns + column + 1u];
        [[unroll]] for (uint r = 0u; r < TILE_ROWS; ++r) {
            const float value = a.at[a_at[r] + i];
            left[r] = fma(vec4(value), b_left, left[r]);
            right[r] = fma(vec4(value), b_right, right[r]);
        }
    }
    [[unroll]] for (uint r = 0u; r < TILE_ROWS; ++r) {
        if (row + r < m) {
            c.at[(row + r) * columns + column] = left[r];
            c.at[(row + r) * columns + column + 1u] = right[r];
        }
    }
}
