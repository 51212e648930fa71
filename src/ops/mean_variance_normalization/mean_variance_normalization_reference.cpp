#include <cmath>
#include <vector>

#include "ops/elementwise/element_access.h"
#include "ops/mean_variance_normalization/mean_variance_normalization.h"
#include "ops/movement/movement.h"

namespace leat {

Status mean_variance_normalization_reference(const ReferenceArgs& args) {
    constexpr double kEpsilon = 1e-9;  // of the standard's function
    const TensorArg& x = args.inputs[0];
    const TensorArg& y = args.outputs[0];
    const int64_t count = x.shape.element_count();
    LEAT_ASSIGN_OR_RETURN(const uint32_t axes, mean_variance_axes(args.node, x.shape.rank()));
    if (count == 0) {
        return {};
    }
    // Elements that are normalized together have the same set.
    Strides strides{};
    int64_t sets = 1;
    for (int axis = x.shape.rank() - 1; axis >= 0; --axis) {
        if ((axes >> unsigned(axis) & 1U) == 0) {
            strides[size_t(axis)] = sets;
            sets *= x.shape[axis];
        }
    }
    const double set_size = double(count) / double(sets);
    std::vector<double> means(size_t(sets), 0.0);
    std::vector<double> deviations(size_t(sets), 0.0);
    StridedIndex to_sum(x.shape, strides);
    for (int64_t i = 0; i < count; ++i, to_sum.advance()) {
        means[size_t(to_sum.offset())] += load_real(x.dtype, x.data, i);
    }
    for (double& mean : means) {
        mean /= set_size;
    }
    StridedIndex to_square(x.shape, strides);
    for (int64_t i = 0; i < count; ++i, to_square.advance()) {
        const auto set = size_t(to_square.offset());
        const double delta = load_real(x.dtype, x.data, i) - means[set];
        deviations[set] += delta * delta;
    }
    for (double& deviation : deviations) {
        deviation = std::sqrt(deviation / set_size) + kEpsilon;
    }
    StridedIndex to_write(x.shape, strides);
    for (int64_t i = 0; i < count; ++i, to_write.advance()) {
        const auto set = size_t(to_write.offset());
        store_real(y.dtype, y.data, i,
                   (load_real(x.dtype, x.data, i) - means[set]) / deviations[set]);
    }
    return {};
}

}  // namespace leat
