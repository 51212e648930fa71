// What the operators that only move elements share: copies of elements of any type, and strided
// walks.
//
// Elements are bits here: 1, 2, 4, 8 and 16 bytes, packed 2 and 4 bits (low bits first),
// std::string. Offsets, indices and strides are in elements. Safe to call concurrently on disjoint
// destinations, except that packed elements share bytes.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "graph/op_def.h"
#include "leat/dtype.h"
#include "leat/shape.h"

namespace leat {

// Offsets of the elements of `shape` in row-major order, under any strides.
class StridedIndex {
  public:
    StridedIndex(const Shape& shape, const Strides& strides, int64_t offset = 0)
        : shape_(shape), strides_(strides), offset_(offset) {}

    int64_t offset() const { return offset_; }
    int64_t index(int axis) const { return index_[size_t(axis)]; }

    void advance() {
        for (int axis = shape_.rank() - 1; axis >= 0; --axis) {
            const auto a = size_t(axis);
            if (++index_[a] < shape_[axis]) {
                offset_ += strides_[a];
                return;
            }
            offset_ -= strides_[a] * (shape_[axis] - 1);
            index_[a] = 0;
        }
    }

  private:
    Shape shape_;
    Strides strides_;
    std::array<int64_t, kMaxRank> index_{};
    int64_t offset_ = 0;
};

// Where a strided copy reads or writes.
struct StridedPlace {
    std::byte* data = nullptr;
    int64_t offset = 0;
    Strides strides{};
};

// Copies `count` consecutive elements; source and destination do not overlap.
void copy_elements(DType dtype,
                   const std::byte* source,
                   int64_t source_index,
                   std::byte* destination,
                   int64_t destination_index,
                   int64_t count);

// Copies every element of `shape` from one strided place to another, in plain loops.
void copy_strided_plain(DType dtype,
                        const Shape& shape,
                        const StridedPlace& source,
                        const StridedPlace& destination);

}  // namespace leat
