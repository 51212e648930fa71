#include <algorithm>

#include "base/error.h"
#include "ops/max_unpool/max_unpool.h"
#include "ops/movement/zero_elements.h"

namespace leat {
namespace {

// The extents that indices count in.
Result<Shape> counted_shape(const ReferenceArgs& args) {
    const Shape& y = args.outputs[0].shape;
    if (find_arg(args.inputs, 2) == nullptr) {
        return y;
    }
    LEAT_ASSIGN_OR_RETURN(const std::vector<int64_t> unpooled,
                          unpooled_extents(args.node, args.inputs[0].shape));
    const bool has_room = std::equal(unpooled.begin(), unpooled.end(), y.begin(), y.end(),
                                     [](int64_t a, int64_t b) { return a <= b; });
    return has_room ? Shape(unpooled) : y;
}

// The offset in y of the element with that number in a shape that is no larger on any axis.
int64_t unpooled_offset(const TensorArg& y, const Shape& counted, int64_t number) {
    int64_t offset = 0;
    for (int axis = counted.rank() - 1; axis >= 0; --axis) {
        offset += number % counted[axis] * y.strides[size_t(axis)];
        number /= counted[axis];
    }
    return offset;
}

}  // namespace

Status max_unpool_reference(const ReferenceArgs& args) {
    const TensorArg& x = args.inputs[0];
    const TensorArg& y = args.outputs[0];
    const int64_t* const indices = args.inputs[1].as<const int64_t>();
    auto found = counted_shape(args);
    if (!found.ok()) {
        return std::move(found).error().with_node(args.node.label());
    }
    const Shape& counted = *found;
    const bool is_whole = counted == y.shape;
    const int64_t count = counted.element_count();
    zero_all_elements(y);
    for (int64_t i = 0; i < x.shape.element_count(); ++i) {
        const int64_t index = indices[i];
        if (index < 0 || index >= count) {
            return invalid_argument("an index lies outside of {}", counted.to_string())
                .with_node(args.node.label())
                .with_found(fmt::format("{}", index))
                .with_needed(fmt::format("an index in [0, {})", count));
        }
        copy_elements(x.dtype, x.data, i, y.data,
                      is_whole ? index : unpooled_offset(y, counted, index), 1);
    }
    return {};
}

}  // namespace leat
