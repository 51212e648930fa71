// LRN, local response normalization across channels: y[c] = x[c] / (bias + alpha / size *
// s[c])^beta with s[c] the sum of x[i]^2 over i in [c - (size - 1) / 2, c + size / 2], cut to the
// channels.
//
// ONNX opset 13. x [n, c, spatial...]; attributes size (required), alpha = 1e-4, beta = 0.75, bias
// = 1. Types: f16, bf16, f32, f64. The reference computes in double.
#pragma once

#include <algorithm>

#include "graph/op_def.h"

namespace leat {

struct LrnParameters {
    int64_t size = 1;
    double alpha_over_size = 0;
    double beta = 0.75;
    double bias = 1;

    static LrnParameters make(const NodeData& node) {
        LrnParameters parameters;
        parameters.size = std::max<int64_t>(node.attr("size", int64_t{1}), 1);
        parameters.alpha_over_size = double(node.attr("alpha", 1e-4F)) / double(parameters.size);
        parameters.beta = double(node.attr("beta", 0.75F));
        parameters.bias = double(node.attr("bias", 1.0F));
        return parameters;
    }
    // Half-open range of channels whose squares count for channel c of `channels`.
    int64_t first_channel(int64_t c) const { return std::max<int64_t>(c - (size - 1) / 2, 0); }
    int64_t end_channel(int64_t c, int64_t channels) const {
        return std::min(c + size / 2 + 1, channels);
    }
};

}  // namespace leat
