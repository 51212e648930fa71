#include <cmath>

#include "ops/axis_split.h"
#include "ops/elementwise/element_access.h"
#include "ops/lp_normalization/lp_normalization.h"

namespace leat {

Status lp_normalization_reference(const ReferenceArgs& args) {
    const TensorArg& x = args.inputs[0];
    const TensorArg& y = args.outputs[0];
    LEAT_ASSIGN_OR_RETURN(const AxisSplit loop, AxisSplit::of(args.node, x.shape, -1));
    const bool has_squares = args.node.attr("p", int64_t{2}) == 2;
    for (int64_t line = 0; line < loop.outer * loop.inner; ++line) {
        const int64_t base = line / loop.inner * loop.extent * loop.inner + line % loop.inner;
        double largest = 0;
        for (int64_t k = 0; k < loop.extent; ++k) {
            const double value = std::abs(load_real(x.dtype, x.data, base + k * loop.inner));
            largest = value > largest || std::isnan(value) ? value : largest;
        }
        // Squares of doubles may be beyond them where the norm is not.
        const double unit = largest > 0 && std::isfinite(largest) ? largest : 1;
        double sum = 0;
        for (int64_t k = 0; k < loop.extent; ++k) {
            const double value = std::abs(load_real(x.dtype, x.data, base + k * loop.inner)) / unit;
            sum += has_squares ? value * value : value;
        }
        const double norm = has_squares ? std::sqrt(sum) : sum;
        for (int64_t k = 0; k < loop.extent; ++k) {
            const int64_t i = base + k * loop.inner;
            const double value = load_real(x.dtype, x.data, i) / unit;
            store_real(y.dtype, y.data, i, norm == 0 ? 0 : value / norm);
        }
    }
    return {};
}

}  // namespace leat
