#include "leat/shape.h"

#include "base/check.h"

namespace leat {

Shape::Shape(std::span<const int64_t> extents) {
    LEAT_CHECK(extents.size() <= size_t(kMaxRank), "rank {} exceeds {}", extents.size(), kMaxRank);
    for (int64_t extent : extents) {
        append(extent);
    }
}

std::optional<Shape> Shape::make(std::span<const int64_t> extents) {
    if (extents.size() > size_t(kMaxRank)) {
        return std::nullopt;
    }
    // Overflow is checked over the non-zero extents, so that every sub-product fits too.
    std::optional<Shape> shape(std::in_place);
    int64_t product = 1;
    for (int64_t extent : extents) {
        if (extent < 0 || (extent > 0 && __builtin_mul_overflow(product, extent, &product))) {
            return std::nullopt;
        }
        shape->append(extent);
    }
    return shape;
}

int64_t Shape::element_count() const {
    return element_count(0, rank_);
}

int64_t Shape::element_count(int begin_axis, int end_axis) const {
    int64_t product = 1;
    for (int axis = begin_axis; axis < end_axis; ++axis) {
        product *= extents_[axis];
    }
    return product;
}

std::string Shape::to_string() const {
    if (rank_ == 0) {
        return "scalar";
    }
    std::string text;
    for (int axis = 0; axis < rank_; ++axis) {
        text.append(axis == 0 ? "" : "x").append(std::to_string(extents_[axis]));
    }
    return text;
}

}  // namespace leat
