// What the models of ai.onnx.ml do with their scores in the end: attribute post_transform.
//   NONE; LOGISTIC: 1 / (1 + exp(-s)); SOFTMAX: exp(s) / sum exp(s); SOFTMAX_ZERO: the same of the
//   scores that are not 0, which stay 0; PROBIT: the quantile of the normal distribution.
// ONNX Runtime leaves the one score of a regression as it is, and takes TreeEnsemble's numbers 1
// and 2 for each other. leat does what the standard says.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>

#include "base/error.h"
#include "graph/op_def.h"

namespace leat {

enum class PostTransform : uint8_t { kNone, kSoftmax, kLogistic, kSoftmaxZero, kProbit };

inline Result<PostTransform> post_transform_of(const NodeData& node) {
    static constexpr const char* kNames[] = {"NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO",
                                             "PROBIT"};
    const std::string name = node.attr("post_transform", "NONE");
    for (int i = 0; i < 5; ++i) {
        if (name == kNames[i]) {
            return PostTransform(i);
        }
    }
    return invalid_argument("attribute post_transform has no such value")
        .with_found("'" + name + "'")
        .with_needed("NONE, SOFTMAX, LOGISTIC, SOFTMAX_ZERO or PROBIT");
}

inline double logistic(double x) {
    return 1 / (1 + std::exp(-x));
}

// Winitzki's approximation, as ONNX Runtime has it: sqrt(2) times the inverse error function.
inline double probit(double p) {
    constexpr double kA = 0.147;
    constexpr double kPi = 3.14159265358979323846;
    const double x = 2 * p - 1;
    const double log = std::log((1 - x) * (1 + x));
    const double v = 2 / (kPi * kA) + 0.5 * log;
    const double root = std::sqrt(-v + std::sqrt(v * v - log / kA));
    return std::sqrt(2.0) * (x < 0 ? -root : root);
}

inline void softmax_scores(double* scores, int64_t count, bool keeps_zeros) {
    double most = -std::numeric_limits<double>::infinity();
    for (int64_t i = 0; i < count; ++i) {
        most = std::max(most, scores[i]);
    }
    double sum = 0;
    for (int64_t i = 0; i < count; ++i) {
        // What is as near to zero as this is none.
        constexpr double kLeast = 0.0000001;
        const bool stays = keeps_zeros && std::fabs(scores[i]) <= kLeast;
        scores[i] = stays ? scores[i] * std::exp(-most) : std::exp(scores[i] - most);
        sum += scores[i];
    }
    for (int64_t i = 0; i < count; ++i) {
        scores[i] /= sum;
    }
}

inline void transform_scores(PostTransform transform, double* scores, int64_t count) {
    if (transform == PostTransform::kSoftmax || transform == PostTransform::kSoftmaxZero) {
        softmax_scores(scores, count, transform == PostTransform::kSoftmaxZero);
        return;
    }
    for (int64_t i = 0; i < count; ++i) {
        scores[i] = transform == PostTransform::kLogistic ? logistic(scores[i])
                    : transform == PostTransform::kProbit ? probit(scores[i])
                                                          : scores[i];
    }
}

}  // namespace leat
