#include "ops/expand/expand.h"
#include "ops/movement/movement.h"

namespace leat {

Status expand_reference(const ReferenceArgs& args) {
    const TensorArg& x = args.inputs[0];
    const TensorArg& y = args.outputs[0];
    copy_strided_plain(x.dtype, y.shape, {x.data, 0, broadcast_strides(x, y.shape)},
                       {y.data, 0, y.strides});
    return {};
}

Status tile_reference(const ReferenceArgs& args) {
    const TensorArg& x = args.inputs[0];
    const TensorArg& y = args.outputs[0];
    StridedIndex write(y.shape, y.strides);
    const int64_t count = y.shape.element_count();
    for (int64_t i = 0; i < count; ++i) {
        int64_t read = 0;
        for (int axis = 0; axis < y.shape.rank(); ++axis) {
            read += write.index(axis) % x.shape[axis] * x.strides[size_t(axis)];
        }
        copy_elements(x.dtype, x.data, read, y.data, write.offset(), 1);
        write.advance();
    }
    return {};
}

}  // namespace leat
