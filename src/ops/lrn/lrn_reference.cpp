#include <cmath>
#include <vector>

#include "ops/element.h"
#include "ops/lrn/lrn.h"

namespace leat {

namespace {

template <class T>
Status run_lrn(const ReferenceArgs& args) {
    const Shape& shape = args.inputs[0].shape;
    const LrnParameters parameters = LrnParameters::make(args.node);
    const int64_t channels = shape[1];
    const int64_t plane = shape.element_count(2, shape.rank());
    std::vector<double> squares(static_cast<size_t>(plane));
    T* y = args.outputs[0].as<T>();
    for (int64_t i = 0; i < shape[0] * channels; ++i) {
        const int64_t c = i % channels;
        const T* image = args.inputs[0].as<const T>() + (i - c) * plane;
        std::fill(squares.begin(), squares.end(), 0.0);
        for (int64_t k = parameters.first_channel(c); k < parameters.end_channel(c, channels);
             ++k) {
            for (int64_t p = 0; p < plane; ++p) {
                const double value = widen(image[k * plane + p]);
                squares[size_t(p)] += value * value;
            }
        }
        for (int64_t p = 0; p < plane; ++p) {
            const double base = parameters.bias + parameters.alpha_over_size * squares[size_t(p)];
            *y++ = narrow<T>(widen(image[c * plane + p]) * std::pow(base, -parameters.beta));
        }
    }
    return {};
}

}  // namespace

Status lrn_reference(const ReferenceArgs& args) {
    return dispatch_float(args.inputs[0].dtype, [&](auto element) {
        return run_lrn<typename decltype(element)::type>(args);
    });
}

}  // namespace leat
