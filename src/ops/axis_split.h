// A shape seen from one axis: [outer, extent, inner], row-major.
#pragma once

#include <cstdint>

#include "base/error.h"
#include "graph/op_def.h"
#include "leat/shape.h"

namespace leat {

struct AxisSplit {
    int64_t outer = 1;
    int64_t extent = 1;
    int64_t inner = 1;

    // 0 <= axis < shape.rank().
    static AxisSplit make(const Shape& shape, int axis) {
        return {shape.element_count(0, axis), shape[axis],
                shape.element_count(axis + 1, shape.rank())};
    }
    // From the node's attribute `axis`.
    static Result<AxisSplit> of(const NodeData& node, const Shape& shape, int64_t default_axis) {
        LEAT_ASSIGN_OR_RETURN(const int axis, axis_of(node, shape.rank(), default_axis));
        return make(shape, axis);
    }
    // The same; without the attribute the shape counts as flattened.
    static Result<AxisSplit> of_axis_or_all(const NodeData& node, const Shape& shape) {
        return node.has_attr("axis") ? of(node, shape, 0) : AxisSplit{1, shape.element_count(), 1};
    }
};

// As of_axis_or_all() sees the shape, with `count` indices of the axis instead.
inline Result<Shape> with_axis_or_all(const NodeData& node, const Shape& shape, int64_t count) {
    if (!node.has_attr("axis")) {
        return Shape({count});
    }
    LEAT_ASSIGN_OR_RETURN(const int axis, axis_of(node, shape.rank()));
    Shape result = shape;
    result[axis] = count;
    return result;
}

}  // namespace leat
