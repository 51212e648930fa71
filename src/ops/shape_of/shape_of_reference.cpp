#include "ops/shape_of/shape_of.h"

namespace leat {

Status shape_reference(const ReferenceArgs& args) {
    const Shape& shape = args.inputs[0].shape;
    const auto [begin, end] = shape_axis_range(args.node, shape.rank());
    for (int axis = begin; axis < end; ++axis) {
        args.outputs[0].as<int64_t>()[axis - begin] = shape[axis];
    }
    return {};
}

Status size_reference(const ReferenceArgs& args) {
    *args.outputs[0].as<int64_t>() = args.inputs[0].shape.element_count();
    return {};
}

}  // namespace leat
