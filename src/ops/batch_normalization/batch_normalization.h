// BatchNormalization: y = scale[c] (x - mean[c]) / sqrt(variance[c] + epsilon) + bias[c].
//
// ONNX opset 15. x [n, c, spatial...], scale, bias, mean, variance [c]; attributes epsilon = 1e-5,
//   momentum = 0.9, training_mode = 0. With training_mode = 1 mean and variance are those of x over
//   all axes but 1, and two more outputs are running_mean = momentum mean_in + (1 - momentum) mean,
//   likewise the (population) variance. x of rank 1 has one channel.
// Types: f16, bf16, f32, f64 for x; for scale and bias, and for mean and variance, any of them.
#pragma once
