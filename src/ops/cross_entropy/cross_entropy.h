// NegativeLogLikelihoodLoss and SoftmaxCrossEntropyLoss: how unlikely classes were held to be.
//   scores : f16, bf16, f32, f64 [n, c, d..]; labels : i32 or i64 [n, d..], in [0, c)
//   weights : as scores [c], optional
//   loss[n, d..] = -p[n, label, d..] * weights[label]; 0 where the label is ignore_index
//   p = scores in NegativeLogLikelihoodLoss; the logarithm of the softmax over c in the other
//   y : loss, or a scalar; log_prob (SoftmaxCrossEntropyLoss, optional) : p, as scores
//   Attributes: ignore_index, which may be any number (absent: none is ignored); reduction: none,
//   sum, mean (the default): the sum over that of the weights of labels that count. Of none: NaN.
// All in f64, rounded once, so that the loss is not of a rounded p. Other labels fail.
// ONNX NegativeLogLikelihoodLoss-22, SoftmaxCrossEntropyLoss-13.
#pragma once

#include "graph/op_def.h"

namespace leat {

Status cross_entropy_reference(const ReferenceArgs& args);

enum class LossReduction : uint8_t { kNone, kSum, kMean };
Result<LossReduction> loss_reduction(const NodeData& node);

}  // namespace leat
