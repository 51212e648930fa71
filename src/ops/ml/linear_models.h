// LinearRegressor, LinearClassifier, SVMRegressor and SVMClassifier.
//
//   x : f32, f64, i64 or i32, [N, F], or [F] of one row. Scores are f32, labels i64 or string.
// LinearRegressor: y[n, t] = sum_f x[n, f] coefficients[t, f] + intercepts[t], 0 where absent.
// LinearClassifier: scores z[n, c] likewise; the label is that of the largest, the first of equal
//   ones. Two classes may have one row of coefficients, of score s: the label is the second one's
//   where s > 0, and z is (1 - s, s), of LOGISTIC that of (-s, s).
// SVMRegressor: y[n, 0] = sum_i coefficients[i] k(x[n], support_vectors[i]) + rho[0]; without
//   support vectors the coefficients are those of x. one_class: 1 where that is > 0, else -1.
// SVMClassifier: the same for each pair of classes, of which one gets a vote; the label is that of
//   most votes. z : the scores of the pairs, of two classes (-s, s); with prob_a and prob_b the
//   probabilities of the classes, by pairwise coupling (Wu, Lin, Weng, JMLR 5, 2004, algorithm 2).
//   ONNX Runtime does not transform two scores by SOFTMAX; ONNX's reference evaluator and leat do.
//   Without support vectors each class has a row of coefficients, and rho[0] is added to all.
// k by kernel_type, with gamma, coef0 and degree of kernel_params: LINEAR a.b, POLY
//   (gamma a.b + coef0)^degree, RBF exp(-gamma |a-b|^2), SIGMOID tanh(gamma a.b + coef0).
// post_transform : scores.h, over the scores of a row. ONNX Runtime leaves a single score as it is.
// Sums are kept in f64 and rounded once. ONNX: all of version 1 of domain ai.onnx.ml.
#pragma once

#include "graph/op_def.h"

namespace leat {

Status infer_linear_model(InferContext& context);
Status infer_svm(InferContext& context);
Status linear_model_reference(const ReferenceArgs& args);
Status svm_reference(const ReferenceArgs& args);

}  // namespace leat
