#include <cmath>

#include "ops/element.h"
#include "ops/group_normalization/group_normalization.h"

namespace leat {
namespace {

template <class T>
Status normalize_groups(const ReferenceArgs& args) {
    const Shape& shape = args.inputs[0].shape;
    const int64_t groups = args.node.attr("num_groups", int64_t{1});
    const int64_t plane = shape.element_count(2, shape.rank());
    const int64_t channels = shape[1] / groups;  // of a group
    const int64_t count = channels * plane;
    const auto epsilon = double(args.node.attr("epsilon", 1e-5F));
    for (int64_t group = 0; group < shape[0] * groups; ++group) {
        const T* x = args.inputs[0].as<const T>() + group * count;
        T* y = args.outputs[0].as<T>() + group * count;
        const auto [mean, variance] = moments(x, count);
        const double factor = 1 / std::sqrt(variance + epsilon);
        for (int64_t i = 0; i < count; ++i) {
            const int64_t c = group % groups * channels + i / plane;
            const double scale = widen(args.inputs[1].as<const T>()[c]);
            const double bias = widen(args.inputs[2].as<const T>()[c]);
            y[i] = narrow<T>((widen(x[i]) - mean) * factor * scale + bias);
        }
    }
    return {};
}

}  // namespace

Status group_normalization_reference(const ReferenceArgs& args) {
    return dispatch_float(args.inputs[0].dtype, [&](auto element) {
        return normalize_groups<typename decltype(element)::type>(args);
    });
}

}  // namespace leat
