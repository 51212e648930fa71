#include <cmath>
#include <vector>

#include "ops/element.h"
#include "ops/layer_normalization/layer_normalization.h"

namespace leat {

namespace {

// A parameter broadcast to the normalized axes [axis, rank) of x; `fallback` where it is absent.
template <class T>
std::vector<double> expand(const TensorArg* parameter,
                           const Shape& x,
                           int64_t columns,
                           double fallback) {
    std::vector<double> expanded(size_t(columns), fallback);
    if (parameter == nullptr) {
        return expanded;
    }
    const Shape& shape = parameter->shape;
    const Strides strides = row_major_strides(shape);
    const T* values = parameter->as<const T>();
    for (int64_t column = 0; column < columns; ++column) {
        int64_t rest = column;
        int64_t offset = 0;
        for (int k = 1; k <= shape.rank() && rest > 0; ++k) {
            const int64_t extent = x[x.rank() - k];
            const int axis = shape.rank() - k;
            offset += shape[axis] == 1 ? 0 : rest % extent * strides[size_t(axis)];
            rest /= extent;
        }
        expanded[size_t(column)] = widen(values[offset]);
    }
    return expanded;
}

Status store_statistic(const TensorArg& output, int64_t row, double value) {
    return dispatch_float(output.dtype, [&](auto element) {
        using U = typename decltype(element)::type;
        output.as<U>()[row] = narrow<U>(value);
        return Status();
    });
}

template <class T>
Status run_layer_normalization(const ReferenceArgs& args) {
    const Shape& shape = args.inputs[0].shape;
    LEAT_ASSIGN_OR_RETURN(const auto geometry, LayerNormalizationGeometry::make(args.node, shape));
    const int64_t columns = geometry.columns;
    const std::vector<double> scale = expand<T>(find_arg(args.inputs, 1), shape, columns, 1.0);
    const std::vector<double> bias = expand<T>(find_arg(args.inputs, 2), shape, columns, 0.0);
    for (int64_t row = 0; row < geometry.rows; ++row) {
        const T* x = args.inputs[0].as<const T>() + row * columns;
        T* y = args.outputs[0].as<T>() + row * columns;
        const auto [mean, variance] = moments(x, columns);
        const double inverse_deviation = 1.0 / std::sqrt(variance + double(geometry.epsilon));
        for (int64_t i = 0; i < columns; ++i) {
            const double normal = (widen(x[i]) - mean) * inverse_deviation;
            y[i] = narrow<T>(normal * scale[size_t(i)] + bias[size_t(i)]);
        }
        if (const TensorArg* to = find_arg(args.outputs, 1)) {
            LEAT_RETURN_IF_ERROR(store_statistic(*to, row, mean));
        }
        if (const TensorArg* to = find_arg(args.outputs, 2)) {
            LEAT_RETURN_IF_ERROR(store_statistic(*to, row, inverse_deviation));
        }
    }
    return {};
}

}  // namespace

Status layer_normalization_reference(const ReferenceArgs& args) {
    return dispatch_float(args.inputs[0].dtype, [&](auto element) {
        return run_layer_normalization<typename decltype(element)::type>(args);
    });
}

}  // namespace leat
