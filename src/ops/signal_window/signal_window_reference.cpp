#include <limits>

#include "ops/dft/unit_root.h"
#include "ops/elementwise/element_access.h"
#include "ops/signal_window/signal_window.h"

namespace leat {
namespace {

struct WindowTerms {
    double a0 = 0;
    double a1 = 0;
    double a2 = 0;
};

WindowTerms window_terms(std::string_view op_type) {
    if (op_type == "HannWindow") {
        return {0.5, 0.5, 0};
    }
    if (op_type == "HammingWindow") {
        return {25.0 / 46, 21.0 / 46, 0};
    }
    return {0.42, 0.5, 0.08};
}

}  // namespace

Status signal_window_reference(const ReferenceArgs& args) {
    const TensorArg& y = args.outputs[0];
    const WindowTerms terms = window_terms(args.node.op_type);
    const int64_t size = y.shape[0];
    const int64_t period = args.node.attr("periodic", int64_t{1}) != 0 ? size : size - 1;
    for (int64_t n = 0; n < size; ++n) {
        double value = std::numeric_limits<double>::quiet_NaN();
        if (period > 0) {
            // In this order the terms of a peak add up to 1 exactly, and not to a bit less.
            value = terms.a2 * unit_root(2 * n % period, period).real() -
                    terms.a1 * unit_root(n % period, period).real();
            value += terms.a0;
        }
        store_real(y.dtype, y.data, n, value);
    }
    return {};
}

}  // namespace leat
