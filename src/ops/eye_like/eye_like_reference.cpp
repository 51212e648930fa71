#include <algorithm>

#include "ops/elementwise/element_access.h"
#include "ops/eye_like/eye_like.h"
#include "ops/movement/zero_elements.h"

namespace leat {

Status eye_like_reference(const ReferenceArgs& args) {
    const TensorArg& y = args.outputs[0];
    zero_all_elements(y);
    const int64_t rows = y.shape[0];
    const int64_t columns = y.shape[1];
    const int64_t k = std::clamp(args.node.attr("k", int64_t{0}), -rows, columns);
    for (int64_t i = std::max<int64_t>(0, -k); i < std::min(rows, columns - k); ++i) {
        store_real(y.dtype, y.data, i * columns + i + k, 1);
    }
    return {};
}

}  // namespace leat
