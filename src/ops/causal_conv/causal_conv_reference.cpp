#include <cmath>

#include "ops/causal_conv/causal_conv.h"
#include "ops/elementwise/element_access.h"

namespace leat {
namespace {

// One channel of one image: the state before it, followed by its input.
struct CausalLine {
    const TensorArg& input;
    const TensorArg* past = nullptr;  // null: zeros
    int64_t line = 0;
    int64_t state = 0;  // positions before the input
    int64_t length = 0;

    double at(int64_t i) const {
        if (i >= state) {
            return load_real(input.dtype, input.data, line * length + i - state);
        }
        return past != nullptr ? load_real(past->dtype, past->data, line * state + i) : 0;
    }
};

void convolve_causal_line(const ReferenceArgs& args, const CausalLine& padded, int64_t channel) {
    const TensorArg& weight = args.inputs[1];
    const TensorArg* bias = find_arg(args.inputs, 2);
    const TensorArg& y = args.outputs[0];
    const bool is_gated = args.node.attr("activation", "none") != "none";
    const double start = bias != nullptr ? load_real(bias->dtype, bias->data, channel) : 0;
    for (int64_t t = 0; t < padded.length; ++t) {
        double sum = start;
        for (int64_t j = 0; j <= padded.state; ++j) {
            sum += load_real(weight.dtype, weight.data, channel * (padded.state + 1) + j) *
                   padded.at(t + j);
        }
        const double sigmoid = is_gated ? 1 / (1 + std::exp(-sum)) : 1;
        const double result = sigmoid == 0 ? std::copysign(0.0, sum) : sum * sigmoid;
        store_real(y.dtype, y.data, padded.line * padded.length + t, result);
    }
}

}  // namespace

Status causal_conv_reference(const ReferenceArgs& args) {
    const TensorArg& input = args.inputs[0];
    const TensorArg* present_state = find_arg(args.outputs, 1);
    const int64_t channels = input.shape[1];
    CausalLine padded{input, find_arg(args.inputs, 3), 0, args.inputs[1].shape[2] - 1,
                      input.shape[2]};
    for (; padded.line < input.shape[0] * channels; ++padded.line) {
        if (args.outputs[0].present()) {
            convolve_causal_line(args, padded, padded.line % channels);
        }
        for (int64_t i = 0; present_state != nullptr && i < padded.state; ++i) {
            store_real(present_state->dtype, present_state->data, padded.line * padded.state + i,
                       padded.at(padded.length + i));
        }
    }
    return {};
}

}  // namespace leat
