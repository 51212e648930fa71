#include <string>

#include "ops/movement/movement.h"
#include "ops/pad/pad.h"

namespace leat {
namespace {

// Offset of the element of x under the index of `write`; -1: the constant.
int64_t source_offset(PadMode mode,
                      const TensorArg& x,
                      const std::vector<PadAxis>& axes,
                      const StridedIndex& write) {
    int64_t offset = 0;
    for (int axis = 0; axis < x.shape.rank(); ++axis) {
        const int64_t index =
            pad_source(mode, write.index(axis) - axes[size_t(axis)].before, x.shape[axis]);
        if (index < 0) {
            return -1;
        }
        offset += index * x.strides[size_t(axis)];
    }
    return offset;
}

}  // namespace

Status pad_reference(const ReferenceArgs& args) {
    const TensorArg& x = args.inputs[0];
    const TensorArg& y = args.outputs[0];
    LEAT_ASSIGN_OR_RETURN(const PadMode mode, pad_mode(args.node));
    LEAT_ASSIGN_OR_RETURN(const std::vector<PadAxis> axes, pad_axes(args.inputs));

    // A string needs a constructed one; every other type's zero is zero bytes.
    const std::string empty;
    const std::byte zeros[16] = {};
    const std::byte* constant =
        x.dtype == DType::kString ? reinterpret_cast<const std::byte*>(&empty) : zeros;
    if (const TensorArg* value = find_arg(args.inputs, 2)) {
        constant = value->data;
    }
    StridedIndex write(y.shape, y.strides);
    const int64_t count = y.shape.element_count();
    for (int64_t i = 0; i < count; ++i) {
        const int64_t offset = source_offset(mode, x, axes, write);
        copy_elements(x.dtype, offset < 0 ? constant : x.data, offset < 0 ? 0 : offset, y.data,
                      write.offset(), 1);
        write.advance();
    }
    return {};
}

}  // namespace leat
