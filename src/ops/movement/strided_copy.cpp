#include "ops/movement/strided_copy.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "base/check.h"

namespace leat {
namespace {

// A unit fits the first-level data cache together with what it reads, twice over on most machines.
constexpr int64_t kUnitBytes = int64_t{32} * 1024;
// A transposed unit reads its rows in pieces of at least two cache lines.
constexpr int64_t kTransposedColumns = 128;
constexpr int64_t kBlock = 16;

using Plane = StridedCopy::Plane;

struct Bytes16 {
    uint64_t halves[2] = {};
};

template <class T>
void move_element(const std::byte* source, std::byte* destination) {
    T value;
    std::memcpy(&value, source, sizeof(T));
    std::memcpy(destination, &value, sizeof(T));
}

void copy_runs(const std::byte* source, std::byte* destination, const Plane& plane) {
    const auto bytes = size_t(plane.columns * plane.destination_column_bytes);
    for (int64_t row = 0; row < plane.rows; ++row) {
        std::memcpy(destination, source, bytes);
        source += plane.source_row_bytes;
        destination += plane.destination_row_bytes;
    }
}

// Runs that are too short for a call.
template <class T>
void copy_short_runs(const std::byte* source, std::byte* destination, const Plane& plane) {
    for (int64_t row = 0; row < plane.rows; ++row) {
        for (int64_t column = 0; column < plane.columns; ++column) {
            move_element<T>(source + column * int64_t(sizeof(T)),
                            destination + column * int64_t(sizeof(T)));
        }
        source += plane.source_row_bytes;
        destination += plane.destination_row_bytes;
    }
}

template <class T>
void fill_runs(const std::byte* source, std::byte* destination, const Plane& plane) {
    for (int64_t row = 0; row < plane.rows; ++row) {
        T value;
        std::memcpy(&value, source, sizeof(T));
        for (int64_t column = 0; column < plane.columns; ++column) {
            std::memcpy(destination + column * int64_t(sizeof(T)), &value, sizeof(T));
        }
        source += plane.source_row_bytes;
        destination += plane.destination_row_bytes;
    }
}

template <class T>
void copy_elementwise(const std::byte* source, std::byte* destination, const Plane& plane) {
    for (int64_t row = 0; row < plane.rows; ++row) {
        for (int64_t column = 0; column < plane.columns; ++column) {
            move_element<T>(source + column * plane.source_column_bytes,
                            destination + column * plane.destination_column_bytes);
        }
        source += plane.source_row_bytes;
        destination += plane.destination_row_bytes;
    }
}

// Vectors of the baseline instruction set: a transpose is bound by memory, not by its shuffles.
using Float4 [[gnu::vector_size(16)]] = uint32_t;

inline Float4 load4(const std::byte* source) {
    Float4 value;
    std::memcpy(&value, source, sizeof(value));
    return value;
}

inline void store4(std::byte* destination, Float4 value) {
    std::memcpy(destination, &value, sizeof(value));
}

// Rows r..r+3 are contiguous in the source, columns c..c+3 in the destination.
inline void transpose_4x4(const std::byte* source, std::byte* destination, const Plane& plane) {
    const Float4 a = load4(source);
    const Float4 b = load4(source + plane.source_column_bytes);
    const Float4 c = load4(source + 2 * plane.source_column_bytes);
    const Float4 d = load4(source + 3 * plane.source_column_bytes);
    const Float4 ab_low = __builtin_shufflevector(a, b, 0, 4, 1, 5);
    const Float4 ab_high = __builtin_shufflevector(a, b, 2, 6, 3, 7);
    const Float4 cd_low = __builtin_shufflevector(c, d, 0, 4, 1, 5);
    const Float4 cd_high = __builtin_shufflevector(c, d, 2, 6, 3, 7);
    store4(destination, __builtin_shufflevector(ab_low, cd_low, 0, 1, 4, 5));
    store4(destination + plane.destination_row_bytes,
           __builtin_shufflevector(ab_low, cd_low, 2, 3, 6, 7));
    store4(destination + 2 * plane.destination_row_bytes,
           __builtin_shufflevector(ab_high, cd_high, 0, 1, 4, 5));
    store4(destination + 3 * plane.destination_row_bytes,
           __builtin_shufflevector(ab_high, cd_high, 2, 3, 6, 7));
}

template <class T>
void transpose_block(const std::byte* source, std::byte* destination, const Plane& plane) {
    for (int64_t row = 0; row < plane.rows; ++row) {
        for (int64_t column = 0; column < plane.columns; ++column) {
            move_element<T>(source + column * plane.source_column_bytes,
                            destination + column * int64_t(sizeof(T)));
        }
        source += int64_t(sizeof(T));
        destination += plane.destination_row_bytes;
    }
}

template <>
void transpose_block<uint32_t>(const std::byte* source,
                               std::byte* destination,
                               const Plane& plane) {
    const int64_t full_rows = plane.rows / 4 * 4;
    const int64_t full_columns = plane.columns / 4 * 4;
    for (int64_t row = 0; row < full_rows; row += 4) {
        for (int64_t column = 0; column < full_columns; column += 4) {
            transpose_4x4(source + row * 4 + column * plane.source_column_bytes,
                          destination + row * plane.destination_row_bytes + column * 4, plane);
        }
    }
    const auto rest = [&](int64_t row, int64_t row_end, int64_t column_begin) {
        for (; row < row_end; ++row) {
            for (int64_t column = column_begin; column < plane.columns; ++column) {
                move_element<uint32_t>(
                    source + row * 4 + column * plane.source_column_bytes,
                    destination + row * plane.destination_row_bytes + column * 4);
            }
        }
    };
    rest(0, full_rows, full_columns);
    rest(full_rows, plane.rows, 0);
}

template <class T>
void transpose_plane(const std::byte* source, std::byte* destination, const Plane& plane) {
    Plane block = plane;
    for (int64_t row = 0; row < plane.rows; row += kBlock) {
        block.rows = std::min(kBlock, plane.rows - row);
        for (int64_t column = 0; column < plane.columns; column += kBlock) {
            block.columns = std::min(kBlock, plane.columns - column);
            transpose_block<T>(
                source + row * int64_t(sizeof(T)) + column * plane.source_column_bytes,
                destination + row * plane.destination_row_bytes + column * int64_t(sizeof(T)),
                block);
        }
    }
}

enum class PlaneKind : uint8_t { kShortRuns, kFill, kElementwise, kTranspose };

template <class T>
StridedCopy::PlaneFunction function_of(PlaneKind kind) {
    switch (kind) {
        case PlaneKind::kShortRuns:
            return copy_short_runs<T>;
        case PlaneKind::kFill:
            return fill_runs<T>;
        case PlaneKind::kElementwise:
            return copy_elementwise<T>;
        case PlaneKind::kTranspose:
            return transpose_plane<T>;
    }
    return nullptr;
}

StridedCopy::PlaneFunction function_of(PlaneKind kind, int64_t element_bytes) {
    switch (element_bytes) {
        case 1:
            return function_of<uint8_t>(kind);
        case 2:
            return function_of<uint16_t>(kind);
        case 4:
            return function_of<uint32_t>(kind);
        case 8:
            return function_of<uint64_t>(kind);
        default:
            return function_of<Bytes16>(kind);
    }
}

}  // namespace

StridedCopy::StridedCopy(std::span<const CopyAxis> axes,
                         int element_bytes,
                         int64_t source_offset,
                         int64_t destination_offset)
    : element_bytes_(element_bytes),
      source_offset_bytes_(source_offset * element_bytes),
      destination_offset_bytes_(destination_offset * element_bytes) {
    LEAT_CHECK(axes.size() <= size_t(kMaxCopyRank), "rank {} of a copy", axes.size());
    destination_bytes_ = element_bytes;
    for (const CopyAxis& axis : axes) {
        destination_bytes_ *= axis.extent;
    }
    if (destination_bytes_ == 0) {
        return;
    }
    order_and_merge(axes);
    widen_elements();
    choose_plane();
    cut_units();
}

void StridedCopy::order_and_merge(std::span<const CopyAxis> axes) {
    std::array<CopyAxis, kMaxCopyRank> sorted;
    int count = 0;
    for (const CopyAxis& axis : axes) {
        if (axis.extent != 1) {
            sorted[size_t(count++)] = {axis.extent, axis.source_stride * element_bytes_,
                                       axis.destination_stride * element_bytes_};
        }
    }
    // Stable, and without the buffer that std::stable_sort allocates.
    for (int i = 1; i < count; ++i) {
        for (int k = i; k > 0 && sorted[size_t(k) - 1].destination_stride <
                                     sorted[size_t(k)].destination_stride;
             --k) {
            std::swap(sorted[size_t(k) - 1], sorted[size_t(k)]);
        }
    }
    for (int i = 0; i < count; ++i) {
        const CopyAxis& inner = sorted[size_t(i)];
        if (!axes_.empty()) {
            CopyAxis& outer = axes_[axes_.size() - 1];
            if (outer.source_stride == inner.source_stride * inner.extent &&
                outer.destination_stride == inner.destination_stride * inner.extent) {
                outer = {outer.extent * inner.extent, inner.source_stride,
                         inner.destination_stride};
                continue;
            }
        }
        axes_.push_back(inner);
    }
}

// A contiguous run of 2, 4, 8 or 16 bytes is one element of that size.
void StridedCopy::widen_elements() {
    if (axes_.size() < 2) {
        return;
    }
    const CopyAxis& inner = axes_.back();
    const int64_t run_bytes = inner.extent * element_bytes_;
    const bool is_run =
        inner.source_stride == element_bytes_ && inner.destination_stride == element_bytes_;
    if (is_run && (run_bytes == 2 || run_bytes == 4 || run_bytes == 8 || run_bytes == 16)) {
        element_bytes_ = run_bytes;
        axes_.truncate(axes_.size() - 1);
    }
}

void StridedCopy::choose_plane() {
    // The plane has two axes; axes of one element complete it.
    while (axes_.size() < 2) {
        const int64_t stride = axes_.empty() ? element_bytes_ : 0;
        axes_.push_back({1, stride, stride});
        std::rotate(axes_.begin(), axes_.end() - 1, axes_.end());
    }
    const CopyAxis columns = axes_.back();
    if (columns.destination_stride != element_bytes_) {
        function_ = function_of(PlaneKind::kElementwise, element_bytes_);
        return;
    }
    if (columns.source_stride == element_bytes_) {
        constexpr int64_t kShortRunBytes = 64;
        const bool is_short = columns.extent * element_bytes_ < kShortRunBytes;
        function_ = is_short ? function_of(PlaneKind::kShortRuns, element_bytes_) : copy_runs;
        return;
    }
    if (columns.source_stride == 0) {
        function_ = function_of(PlaneKind::kFill, element_bytes_);
        return;
    }
    // The axis that is innermost in the source becomes the rows.
    for (CopyAxis* axis = axes_.begin(); axis != axes_.end() - 1; ++axis) {
        if (axis->source_stride == element_bytes_ && axis->extent > 1) {
            std::rotate(axis, axis + 1, axes_.end() - 1);
            transposes_ = true;
            function_ = function_of(PlaneKind::kTranspose, element_bytes_);
            return;
        }
    }
    function_ = function_of(PlaneKind::kElementwise, element_bytes_);
}

void StridedCopy::cut_units() {
    const size_t outer_rank = axes_.size() - 2;
    const int64_t columns = axes_.back().extent;
    const int64_t rows = axes_[outer_rank].extent;
    const int64_t most_columns = transposes_ ? kTransposedColumns : kUnitBytes / element_bytes_;
    columns_per_unit_ = std::min(columns, most_columns);
    rows_per_unit_ =
        std::clamp(kUnitBytes / (columns_per_unit_ * element_bytes_), int64_t{1}, rows);
    if (transposes_ && rows_per_unit_ < rows) {
        rows_per_unit_ = std::min(rows, std::max(kBlock, rows_per_unit_ / kBlock * kBlock));
    }
    row_cuts_ = (rows + rows_per_unit_ - 1) / rows_per_unit_;
    column_cuts_ = (columns + columns_per_unit_ - 1) / columns_per_unit_;
    unit_count_ = row_cuts_ * column_cuts_;
    for (size_t i = 0; i < outer_rank; ++i) {
        unit_count_ *= axes_[i].extent;
    }
}

void StridedCopy::run(const std::byte* source,
                      std::byte* destination,
                      int64_t unit_begin,
                      int64_t unit_end) const {
    const CopyAxis* axes = axes_.data();
    const int outer_rank = int(axes_.size()) - 2;
    std::array<int64_t, kMaxCopyRank + 2> index{};
    int64_t rest = unit_begin;
    int64_t column_cut = rest % column_cuts_;
    rest /= column_cuts_;
    int64_t row_cut = rest % row_cuts_;
    rest /= row_cuts_;
    source += source_offset_bytes_;
    destination += destination_offset_bytes_;
    for (int i = outer_rank - 1; i >= 0; --i) {
        const CopyAxis& axis = axes[i];
        index[size_t(i)] = rest % axis.extent;
        rest /= axis.extent;
        source += index[size_t(i)] * axis.source_stride;
        destination += index[size_t(i)] * axis.destination_stride;
    }
    const CopyAxis& rows = axes[outer_rank];
    const CopyAxis& columns = axes[outer_rank + 1];
    Plane plane{0,
                0,
                rows.source_stride,
                columns.source_stride,
                rows.destination_stride,
                columns.destination_stride};
    for (int64_t unit = unit_begin; unit < unit_end; ++unit) {
        const int64_t row = row_cut * rows_per_unit_;
        const int64_t column = column_cut * columns_per_unit_;
        plane.rows = std::min(rows_per_unit_, rows.extent - row);
        plane.columns = std::min(columns_per_unit_, columns.extent - column);
        function_(source + row * rows.source_stride + column * columns.source_stride,
                  destination + row * rows.destination_stride + column * columns.destination_stride,
                  plane);
        if (++column_cut < column_cuts_) {
            continue;
        }
        column_cut = 0;
        if (++row_cut < row_cuts_) {
            continue;
        }
        row_cut = 0;
        for (int i = outer_rank - 1; i >= 0; --i) {
            const CopyAxis& axis = axes[i];
            source += axis.source_stride;
            destination += axis.destination_stride;
            if (++index[size_t(i)] < axis.extent) {
                break;
            }
            source -= axis.source_stride * axis.extent;
            destination -= axis.destination_stride * axis.extent;
            index[size_t(i)] = 0;
        }
    }
}

}  // namespace leat
