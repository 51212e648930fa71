// Steps of stochastic gradient methods, of any number of tensors.
//
//   Adagrad(R, T, X.., G.., H..)        -> X.., H..
//     g = norm_coefficient X + G;  H' = H + g^2
//     X' = X - R / (1 + T decay_factor) g / (sqrt(H') + epsilon)
//   Adam(R, T, X.., G.., V.., H..)      -> X.., V.., H..
//     g as before;  V' = alpha V + (1 - alpha) g;  H' = beta H + (1 - beta) g^2
//     r = R, or where T > 0 R sqrt(1 - beta^T) / (1 - alpha^T)
//     X' = (1 - norm_coefficient_post) (X - r V' / (sqrt(H') + epsilon))
//   Momentum(R, T, X.., G.., V..)       -> X.., V..
//     g as before;  V' = alpha V + (T > 0 ? beta : 1) g
//     X' = X - R V', or with mode "nesterov" X - R (g + alpha V')
//   R: f32 or f64, T: i64, one element each. The others are f32 or f64; those of one X have its
//   type and shape. Computed in f64, rounded once.
// Domain ai.onnx.preview.training: Adagrad-1, Adam-1, Momentum-1.
#pragma once

#include "graph/op_def.h"

namespace leat {

Status adagrad_reference(const ReferenceArgs& args);
Status adam_reference(const ReferenceArgs& args);
Status momentum_reference(const ReferenceArgs& args);

}  // namespace leat
