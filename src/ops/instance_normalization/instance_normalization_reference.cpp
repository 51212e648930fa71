#include <cmath>

#include "graph/op_def.h"
#include "ops/element.h"
#include "ops/instance_normalization/instance_normalization.h"

namespace leat {

namespace {

template <class T>
void normalize_plane(const T* x, T* y, int64_t count, double epsilon, double scale, double bias) {
    const auto [mean, variance] = moments(x, count);
    const double factor = scale / std::sqrt(variance + epsilon);
    for (int64_t i = 0; i < count; ++i) {
        y[i] = narrow<T>((widen(x[i]) - mean) * factor + bias);
    }
}

template <class T>
Status run_instance_normalization(const ReferenceArgs& args) {
    const Shape& shape = args.inputs[0].shape;
    const int64_t plane = shape.element_count(2, shape.rank());
    const auto epsilon = double(args.node.attr("epsilon", 1e-5F));
    for (int64_t i = 0; i < shape[0] * shape[1]; ++i) {
        const int64_t c = i % shape[1];
        normalize_plane(args.inputs[0].as<const T>() + i * plane,
                        args.outputs[0].as<T>() + i * plane, plane, epsilon,
                        widen(args.inputs[1].as<const T>()[c]),
                        widen(args.inputs[2].as<const T>()[c]));
    }
    return {};
}

}  // namespace

Status instance_normalization_reference(const ReferenceArgs& args) {
    return dispatch_float(args.inputs[0].dtype, [&](auto element) {
        return run_instance_normalization<typename decltype(element)::type>(args);
    });
}

}  // namespace leat
