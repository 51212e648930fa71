// StridedCopy: a copy between two strided places, prepared once, run in independent units.
//
// The engine under Transpose, Concat, Split, Slice, Expand, Tile, Pad and Layout: it merges axes,
// walks the destination in order of its memory, copies contiguous runs whole and transposes in
// blocks where the innermost axes of source and destination differ. Immutable after construction;
// run() may be called concurrently on disjoint units. No allocation, no locks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/inline_vector.h"
#include "leat/shape.h"

namespace leat {

// Tile has a repeat and an extent for each axis.
inline constexpr int kMaxCopyRank = 2 * kMaxRank;

// Strides in elements. The source's may be zero or negative; different indices have different
// destinations.
struct CopyAxis {
    int64_t extent = 1;
    int64_t source_stride = 0;
    int64_t destination_stride = 0;
};

class StridedCopy {
  public:
    // element_bytes: 1, 2, 4, 8 or 16. Offsets in elements. Precondition: axes.size() <=
    // kMaxCopyRank.
    StridedCopy(std::span<const CopyAxis> axes,
                int element_bytes,
                int64_t source_offset,
                int64_t destination_offset);

    int64_t unit_count() const { return unit_count_; }  // 0 if there is nothing to copy
    int64_t destination_bytes() const { return destination_bytes_; }
    // Pointers to the tensors' first elements; the copy does not overlap itself.
    void run(const std::byte* source,
             std::byte* destination,
             int64_t unit_begin,
             int64_t unit_end) const;

    // A plane of rows and columns; strides in bytes. Columns are innermost in the destination.
    struct Plane {
        int64_t rows = 1;
        int64_t columns = 1;
        int64_t source_row_bytes = 0;
        int64_t source_column_bytes = 0;
        int64_t destination_row_bytes = 0;
        int64_t destination_column_bytes = 0;
    };
    using PlaneFunction = void (*)(const std::byte* source,
                                   std::byte* destination,
                                   const Plane& plane);

  private:
    void order_and_merge(std::span<const CopyAxis> axes);
    void widen_elements();
    void choose_plane();
    void cut_units();

    // In bytes from here on; ordered by destination stride, outermost first. The last two are the
    // plane. Few are left of any, and a kernel may have many copies.
    InlineVector<CopyAxis, 4> axes_;
    int64_t element_bytes_ = 1;
    int64_t source_offset_bytes_ = 0;
    int64_t destination_offset_bytes_ = 0;
    int64_t destination_bytes_ = 0;
    bool transposes_ = false;
    PlaneFunction function_ = nullptr;
    int64_t rows_per_unit_ = 1;
    int64_t columns_per_unit_ = 1;
    int64_t row_cuts_ = 1;
    int64_t column_cuts_ = 1;
    int64_t unit_count_ = 0;
};

}  // namespace leat
