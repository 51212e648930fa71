// y[i] = f(x[i]) for i < count; f32.
//   operands  0: x, 1: y, both aligned to 16 bytes; y may be x
//   scalars   0: count in elements, below 2^31
//   constants 0: workgroup size, 1: f, a kOp... below
// Any number of workgroups in x does.
#version 460
#extension GL_GOOGLE_include_directive : require

layout(local_size_x_id = 0) in;
#include "push_block.glsl"

layout(constant_id = 1) const uint kOperation = 0;

const uint kOpAbs = 0;
const uint kOpNeg = 1;
const uint kOpRelu = 2;
const uint kOpSqrt = 3;
const uint kOpExp = 4;
const uint kOpSigmoid = 5;
const uint kOpTanh = 6;

vec4 apply(vec4 x) {
    switch (kOperation) {
        case kOpAbs:
            return abs(x);
        case kOpNeg:
            return -x;
        case kOpRelu:
            // max() would drop a NaN.
            return mix(x, vec4(0.0), lessThan(x, vec4(0.0)));
        case kOpSqrt:
            return sqrt(x);
        case kOpExp:
            return exp(x);
        case kOpSigmoid:
            return 1.0 / (1.0 + exp(-x));
        default:
            return tanh(x);
    }
}

void main() {
    const uint count = push.scalars[0];
    const uint whole = count / 4u;
    Vec4sIn x = Vec4sIn(operand(0u));
    Vec4sOut y = Vec4sOut(operand(1u));
    for (uint i = linear_id(); i < whole; i += linear_count()) {
        y.at[i] = apply(x.at[i]);
    }
    const uint rest = whole * 4u + linear_id();
    if (rest < count) {
        FloatsIn last = FloatsIn(operand(0u));
        FloatsOut(operand(1u)).at[rest] = apply(vec4(last.at[rest])).x;
    }
}
