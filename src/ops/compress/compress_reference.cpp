#include <algorithm>

#include "ops/compress/compress.h"
#include "ops/movement/movement.h"
#include "ops/open_result.h"

namespace leat {

Status compress_reference(const ReferenceArgs& args) {
    const TensorArg& x = args.inputs[0];
    LEAT_ASSIGN_OR_RETURN(const AxisSplit loop, AxisSplit::of_axis_or_all(args.node, x.shape));
    const uint8_t* const condition = args.inputs[1].as<const uint8_t>();
    const int64_t length = std::min(loop.extent, args.inputs[1].shape.element_count());
    const int64_t count =
        std::count_if(condition, condition + length, [](uint8_t holds) { return holds != 0; });
    LEAT_ASSIGN_OR_RETURN(const Shape shape, with_axis_or_all(args.node, x.shape, count));
    LEAT_ASSIGN_OR_RETURN(std::byte* const y, give_shape(args.outputs[0], shape));
    int64_t to = 0;
    for (int64_t outer = 0; outer < loop.outer; ++outer) {
        for (int64_t i = 0; i < length; ++i) {
            if (condition[i] != 0) {
                const int64_t from = (outer * loop.extent + i) * loop.inner;
                copy_elements(x.dtype, x.data, from, y, to, loop.inner);
                to += loop.inner;
            }
        }
    }
    return {};
}

}  // namespace leat
