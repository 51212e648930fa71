// A shape seen from one axis: [outer, extent, inner], row-major.
#pragma once

#include <cstdint>

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
};

}  // namespace leat
