#include <cmath>

#include "ops/elementwise/element_access.h"
#include "ops/expand/expand.h"
#include "ops/movement/movement.h"
#include "ops/rms_normalization/rms_normalization.h"

namespace leat {

Status rms_normalization_reference(const ReferenceArgs& args) {
    const TensorArg& x = args.inputs[0];
    const TensorArg& scale = args.inputs[1];
    const TensorArg& y = args.outputs[0];
    LEAT_ASSIGN_OR_RETURN(const auto geometry, RmsNormalizationGeometry::make(args.node, x.shape));
    StridedIndex scale_index(x.shape, broadcast_strides(scale, x.shape));
    for (int64_t row = 0; row < geometry.rows; ++row) {
        const int64_t begin = row * geometry.columns;
        double squares = 0;
        for (int64_t i = 0; i < geometry.columns; ++i) {
            const double value = load_real(x.dtype, x.data, begin + i);
            squares += value * value;
        }
        const double mean = squares / double(geometry.columns);
        const double factor = 1 / std::sqrt(mean + double(geometry.epsilon));
        for (int64_t i = 0; i < geometry.columns; ++i) {
            const double value = load_real(x.dtype, x.data, begin + i) * factor;
            const double weight = load_real(scale.dtype, scale.data, scale_index.offset());
            store_real(y.dtype, y.data, begin + i, value * weight);
            scale_index.advance();
        }
    }
    return {};
}

}  // namespace leat
