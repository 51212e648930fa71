// InstanceNormalization: y = scale[c] (x - mean) / sqrt(variance + epsilon) + bias[c] over the
// spatial axes of each image and channel.
//
// ONNX opset 22. x [n, c, spatial...], scale [c], bias [c]; attribute epsilon = 1e-5.
// Types: f16, bf16, f32, f64. The reference computes in double.
#pragma once
