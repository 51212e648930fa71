// y = saturate(round(factor (sum + bias)) + y_zero) to bytes, factor = a_scale b_scale / y_scale in
// f32 from left to right. Sums are [.., rows, columns].
//   operands   0: sums (i32), 1: a_scale, 2: b_scale, 3: y_scale, 4: y_zero, 5: bias (i32; any
//              address where there is none), 6: y
//   scalars    0: sums, below 2^31; 1: rows; 2: columns; 3: bits: 0 a_scale, 1 b_scale, 2 y_scale and
//              3 y_zero have an element for each row, 4 b_scale one for each column, 5 there is a
//              bias, one for each row
//   constants  0: workgroup size, 1: type of y (leat's DType)
// Any number of workgroups in x does.
#version 460
#extension GL_GOOGLE_include_directive : require

layout(local_size_x_id = 0) in;
#include "push_block.glsl"
#include "quantized_numbers.glsl"

layout(constant_id = 1) const uint kY = 2;

void main() {
    const uint rows = push.scalars[1];
    const uint columns = push.scalars[2];
    const uint bits = push.scalars[3];
    for (uint i = linear_id(); i < push.scalars[0]; i += linear_count()) {
        const uint row = i / columns % rows;
        const uint b_at = (bits & 16u) != 0u ? i % columns : (bits & 2u) != 0u ? row : 0u;
        const float a_scale = FloatsIn(operand(1u)).at[(bits & 1u) != 0u ? row : 0u];
        const float b_scale = FloatsIn(operand(2u)).at[b_at];
        const float y_scale = FloatsIn(operand(3u)).at[(bits & 4u) != 0u ? row : 0u];
        const int zero = load_integer(operand(4u), (bits & 8u) != 0u ? row : 0u, kY);
        uint sum = Elements32(operand(0u)).at[i];
        if ((bits & 32u) != 0u) {
            sum += Elements32(operand(5u)).at[row];
        }
        precise const float product = a_scale * b_scale;
        precise const float factor = product / y_scale;
        precise const float value = float(int(sum)) * factor;
        store_integer(operand(6u), i, kY, saturated(value, zero, kY));
    }
}
