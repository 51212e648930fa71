#include <cmath>

#include "ops/elementwise/element_access.h"
#include "ops/movement/movement.h"
#include "ops/onehot/onehot.h"

namespace leat {
namespace {

// In [0, depth), or -1: it lies beyond.
int64_t hot_index(const TensorArg& indices, int64_t i, int64_t depth) {
    int64_t index = 0;
    if (contains(kFloatTypes, indices.dtype)) {
        const double real = std::trunc(load_real(indices.dtype, indices.data, i));
        if (!(real >= -double(depth) && real < double(depth))) {
            return -1;
        }
        index = int64_t(real);
    } else {
        index = load_integer(indices.dtype, indices.data, i);
        const bool is_huge = indices.dtype == DType::kUint64 && index < 0;
        if (is_huge || index < -depth || index >= depth) {
            return -1;
        }
    }
    return index < 0 ? index + depth : index;
}

}  // namespace

Status onehot_reference(const ReferenceArgs& args) {
    const TensorArg& indices = args.inputs[0];
    const TensorArg& values = args.inputs[2];
    const TensorArg& y = args.outputs[0];
    LEAT_ASSIGN_OR_RETURN(const AxisSplit loop, onehot_loop(args.node, y.shape));
    int64_t to = 0;
    for (int64_t outer = 0; outer < loop.outer; ++outer) {
        for (int64_t d = 0; d < loop.extent; ++d) {
            for (int64_t inner = 0; inner < loop.inner; ++inner, ++to) {
                const int64_t at = outer * loop.inner + inner;
                const int64_t value = hot_index(indices, at, loop.extent) == d ? 1 : 0;
                copy_elements(y.dtype, values.data, value, y.data, to, 1);
            }
        }
    }
    return {};
}

}  // namespace leat
