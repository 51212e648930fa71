#include <cmath>

#include "ops/elementwise/element_access.h"
#include "ops/swiglu/swiglu.h"

namespace leat {

Status swiglu_reference(const ReferenceArgs& args) {
    const TensorArg& a = args.inputs[0];
    const TensorArg& b = args.inputs[1];
    const TensorArg& y = args.outputs[0];
    const auto alpha = double(args.node.attr("alpha", 1.0F));
    for (int64_t i = 0; i < y.shape.element_count(); ++i) {
        const double x = load_real(a.dtype, a.data, i);
        const double sigmoid = 1 / (1 + std::exp(-alpha * x));
        const double gate = sigmoid == 0 ? std::copysign(0.0, x) : x * sigmoid;
        store_real(y.dtype, y.data, i, gate * load_real(b.dtype, b.data, i));
    }
    return {};
}

}  // namespace leat
