// y[i] = f(a[...], b[...]) with numpy's broadcasting; f32, y dense.
//   operands   0: a, 1: b, 2: y, all aligned to 16 bytes; y may be an operand of its own shape
//   scalars    0: count of y in elements, below 2^31; 1: rank, 0 where a, b and y have one shape
//   parameters extents of y, then strides of a and of b in elements (0 where broadcast), outermost
//              first, kMaxRank of each
//   constants  0: workgroup size, 1: f, a kOp... below
// Any number of workgroups in x does.
#version 460
#extension GL_GOOGLE_include_directive : require

layout(local_size_x_id = 0) in;
#include "push_block.glsl"

layout(constant_id = 1) const uint kOperation = 0;

const uint kOpAdd = 0;
const uint kOpSub = 1;
const uint kOpMul = 2;
const uint kOpDiv = 3;
const uint kOpMin = 4;

const uint kMaxRank = 8;

layout(buffer_reference, scalar, buffer_reference_align = 4) readonly buffer Broadcast {
    uint extents[kMaxRank];
    uint a_strides[kMaxRank];
    uint b_strides[kMaxRank];
};

vec4 apply(vec4 a, vec4 b) {
    switch (kOperation) {
        case kOpAdd:
            return a + b;
        case kOpSub:
            return a - b;
        case kOpMul:
            return a * b;
        case kOpDiv:
            return a / b;
        case kOpMin:
            // min() may drop a NaN; a sum keeps it.
            return mix(min(a, b), a + b, bvec4(uvec4(isnan(a)) | uvec4(isnan(b))));
        default:
            return mix(max(a, b), a + b, bvec4(uvec4(isnan(a)) | uvec4(isnan(b))));
    }
}

void same_shape(uint count) {
    const uint whole = count / 4u;
    Vec4sIn a = Vec4sIn(operand(0u));
    Vec4sIn b = Vec4sIn(operand(1u));
    Vec4sOut y = Vec4sOut(operand(2u));
    for (uint i = linear_id(); i < whole; i += linear_count()) {
        y.at[i] = apply(a.at[i], b.at[i]);
    }
    const uint rest = whole * 4u + linear_id();
    if (rest < count) {
        const float last_a = FloatsIn(operand(0u)).at[rest];
        const float last_b = FloatsIn(operand(1u)).at[rest];
        FloatsOut(operand(2u)).at[rest] = apply(vec4(last_a), vec4(last_b)).x;
    }
}

void broadcast(uint count, uint rank) {
    Broadcast shape = Broadcast(push.parameters);
    FloatsIn a = FloatsIn(operand(0u));
    FloatsIn b = FloatsIn(operand(1u));
    FloatsOut y = FloatsOut(operand(2u));
    for (uint i = linear_id(); i < count; i += linear_count()) {
        uint left = i;
        uint a_at = 0u;
        uint b_at = 0u;
        for (uint axis = rank; axis-- > 0u;) {
            const uint index = left % shape.extents[axis];
            left /= shape.extents[axis];
            a_at += index * shape.a_strides[axis];
            b_at += index * shape.b_strides[axis];
        }
        y.at[i] = apply(vec4(a.at[a_at]), vec4(b.at[b_at])).x;
    }
}

void main() {
    const uint count = push.scalars[0];
    const uint rank = push.scalars[1];
    if (rank == 0u) {
        same_shape(count);
    } else {
        broadcast(count, rank);
    }
}
