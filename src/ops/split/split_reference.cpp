#include "ops/movement/movement.h"
#include "ops/split/split.h"

namespace leat {

Status split_reference(const ReferenceArgs& args) {
    const TensorArg& x = args.inputs[0];
    LEAT_ASSIGN_OR_RETURN(const int axis, axis_of(args.node, x.shape.rank()));
    int64_t offset = 0;
    for (const TensorArg& y : args.outputs) {
        if (y.present()) {
            copy_strided_plain(x.dtype, y.shape, {x.data, offset, x.strides},
                               {y.data, 0, y.strides});
        }
        offset += y.shape[axis] * x.strides[size_t(axis)];
    }
    return {};
}

}  // namespace leat
