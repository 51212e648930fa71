#include "backends/cpu/conv_rows.h"

#include <algorithm>
#include <cstring>
#include <map>

namespace leat::cpu {

namespace {

// Up to this many rows (768 KiB) are kept sorted; larger images have little padding.
constexpr int64_t kMaxSortedRows = 16384;
// A class of equal padding smaller than this shares register tiles with others.
constexpr int64_t kMinClassRows = 3;

// Copies a few elements without a call.
float* copy_run(const float* from, int64_t count, float* to) {
    constexpr int64_t kStep = 4;
    if (count < kStep) {
        for (int64_t i = 0; i < count; ++i) {
            to[i] = from[i];
        }
        return to + count;
    }
    for (int64_t i = 0; i + kStep < count; i += kStep) {
        std::memcpy(to + i, from + i, kStep * sizeof(float));
    }
    std::memcpy(to + count - kStep, from + count - kStep, kStep * sizeof(float));
    return to + count;
}

}  // namespace

ConvRows::ConvRows(const ConvGeometry& geometry,
                   const TensorArg& x,
                   const TensorArg& y,
                   Source source)
    : window_(geometry.window),
      source_(source),
      batch_(geometry.batch),
      channels_(geometry.in_channels_per_group()),
      count_(geometry.batch * geometry.window.output_count()),
      batch_stride_(x.strides[0]),
      channel_stride_(x.strides[1]),
      y_(y, y.shape, 1) {
    const size_t spatial = size_t(x.shape.rank()) - 2;
    for (size_t axis = 0; axis < spatial; ++axis) {
        strides_[kMaxSpatialRank - spatial + axis] = x.strides[axis + 2];
    }
    for (int axis = 0; axis < kMaxSpatialRank; ++axis) {
        const auto a = size_t(axis);
        for (int64_t o = 0; o < window_.output[a]; ++o) {
            inside_[a].push_back(taps_inside(window_.origin(axis, o), window_.dilation[a],
                                             window_.kernel[a], window_.input[a]));
            if (source_ == Source::kInPlace) {
                taps_[a].push_back(tap_bits(axis, inside_[a].back()));
            }
        }
    }
}

// Bits of the taps whose position on an axis is in the range.
uint64_t ConvRows::tap_bits(int axis, IndexRange range) const {
    uint64_t bits = 0;
    for (int64_t tap = 0; tap < window_.kernel_count(); ++tap) {
        const Extents at{tap / (window_.kernel[1] * window_.kernel[2]),
                         tap / window_.kernel[2] % window_.kernel[1], tap % window_.kernel[2]};
        const int64_t on_axis = at[size_t(axis)];
        bits |= uint64_t{on_axis >= range.begin && on_axis < range.end} << tap;
    }
    return bits;
}

int64_t ConvRows::tap_offset(int64_t tap) const {
    int64_t offset = 0;
    for (size_t axis = kMaxSpatialRank; axis-- > 0;) {
        offset += tap % window_.kernel[axis] * window_.dilation[axis] * strides_[axis];
        tap /= window_.kernel[axis];
    }
    return offset;
}

ConvRows::Position ConvRows::position(int64_t row) const {
    Position result;
    for (size_t axis = kMaxSpatialRank; axis-- > 0;) {
        result.out[axis] = row % window_.output[axis];
        row /= window_.output[axis];
    }
    result.n = row;
    return result;
}

void ConvRows::advance(Position& position) const {
    for (size_t axis = kMaxSpatialRank; axis-- > 0;) {
        if (++position.out[axis] < window_.output[axis]) {
            return;
        }
        position.out[axis] = 0;
    }
    ++position.n;
}

int64_t ConvRows::window_offset(const Position& position) const {
    int64_t offset = position.n * batch_stride_;
    for (int axis = 0; axis < kMaxSpatialRank; ++axis) {
        offset += window_.origin(axis, position.out[size_t(axis)]) * strides_[size_t(axis)];
    }
    return offset;
}

std::span<GemmRow> ConvRows::fill(int64_t first_row, int64_t end_row, GemmRow* rows) const {
    Position at = position(first_row);
    const int64_t step = window_.stride[2] * strides_[2];
    GemmRow* to = rows;
    for (int64_t row = first_row; row < end_row;) {
        // One run of positions on the innermost axis.
        const int64_t count = std::min(window_.output[2] - at.out[2], end_row - row);
        const uint64_t taps = taps_[0][size_t(at.out[0])] & taps_[1][size_t(at.out[1])];
        const uint64_t* w_taps = taps_[2].data() + at.out[2];
        const int64_t offset = window_offset(at);
        const int64_t y_offset = y_.offset(row);
        const int64_t y_step = count > 1 ? y_.offset(row + 1) - y_offset : 0;
        for (int64_t i = 0; i < count; ++i) {
            *to++ = {offset + i * step, taps & w_taps[i], y_offset + i * y_step, int32_t(row + i),
                     0};
        }
        row += count;
        at.out[2] += count - 1;
        advance(at);
    }
    return {rows, size_t(end_row - first_row)};
}

// Rows of equal padding.
struct ConvRows::PaddingClass {
    uint64_t taps = 0;
    int64_t rows = 0;
    int64_t begin = 0;  // in sorted_
};

std::vector<ConvRows::PaddingClass> ConvRows::padding_classes() const {
    std::map<uint64_t, int64_t, std::greater<>> rows_of;
    for (const uint64_t d : taps_[0]) {
        for (const uint64_t h : taps_[1]) {
            for (const uint64_t w : taps_[2]) {
                rows_of[d & h & w] += batch_;
            }
        }
    }
    // Small classes go last, all together; otherwise the most complete windows first.
    PaddingClass small;
    std::vector<PaddingClass> classes;
    for (const auto& [taps, rows] : rows_of) {
        if (rows >= kMinClassRows) {
            classes.push_back({taps, rows, 0});
        } else {
            small.rows += rows;
        }
    }
    classes.push_back(small);
    int64_t begin = 0;
    for (PaddingClass& own : classes) {
        own.begin = begin;
        begin += own.rows;
    }
    return classes;
}

// Fills sorted_ with rows of equal padding together, register tiles cut.
void ConvRows::sort_by_padding(int max_rows) {
    const std::vector<PaddingClass> classes = padding_classes();
    std::vector<GemmRow> in_order(size_t(window_.output[2]));
    sorted_.resize(size_t(count_));
    std::vector<int64_t> next;
    next.reserve(classes.size());
    for (const PaddingClass& own : classes) {
        next.push_back(own.begin);
    }
    // Small classes are the last one, which has no taps of its own.
    const auto class_of = [&classes](uint64_t taps) {
        size_t at = 0;
        while (at + 1 < classes.size() && classes[at].taps != taps) {
            ++at;
        }
        return at;
    };
    size_t at = 0;  // neighbours are mostly of one class
    for (int64_t first = 0; first < count_; first += window_.output[2]) {
        for (const GemmRow& row : fill(first, first + window_.output[2], in_order.data())) {
            const bool is_same = at + 1 < classes.size() && classes[at].taps == row.taps;
            at = is_same ? at : class_of(row.taps);
            sorted_[size_t(next[at]++)] = row;
        }
    }
    for (const PaddingClass& own : classes) {
        cut_tiles(std::span(sorted_).subspan(size_t(own.begin), size_t(own.rows)), max_rows);
    }
}

void ConvRows::cut_blocks(GemmBlocking& blocking, int max_rows) {
    max_rows_ = max_rows;
    const bool padded =
        std::any_of(taps_.begin(), taps_.end(), [](const std::vector<uint64_t>& axis) {
            return std::adjacent_find(axis.begin(), axis.end(), std::not_equal_to<>()) !=
                   axis.end();
        });
    if (source_ == Source::kInPlace && padded && count_ <= kMaxSortedRows) {
        sort_by_padding(max_rows);
    }
    block_begin_.assign(1, 0);
    blocking.rows = 0;
    for (int64_t block = 0; block < blocking.row_blocks; ++block) {
        int64_t end =
            std::max(part_begin(count_, blocking.row_blocks, block + 1), block_begin_.back());
        while (!sorted_.empty() && end < count_ && sorted_[size_t(end)].tile_rows == 0) {
            ++end;
        }
        blocking.rows = std::max(blocking.rows, end - block_begin_.back());
        block_begin_.push_back(end);
    }
}

std::span<const GemmRow> ConvRows::block(int64_t index, GemmRow* scratch) const {
    const int64_t begin = block_begin_[size_t(index)];
    const int64_t end = block_begin_[size_t(index + 1)];
    if (!sorted_.empty()) {
        return std::span(sorted_).subspan(size_t(begin), size_t(end - begin));
    }
    const std::span<GemmRow> rows = fill(begin, end, scratch);
    cut_tiles(rows, max_rows_);
    return rows;
}

std::span<const GemmRow> ConvRows::gather(int64_t index,
                                          const float* x,
                                          float* windows,
                                          GemmRow* scratch) const {
    const int64_t begin = block_begin_[size_t(index)];
    const int64_t end = block_begin_[size_t(index + 1)];
    const int64_t k = window_.kernel_count() * channels_;
    const std::span<GemmRow> rows(scratch, size_t(end - begin));
    Position at = position(begin);
    for (int64_t row = begin; row < end; ++row, advance(at)) {
        const int64_t window = (row - begin) * k;
        rows[size_t(row - begin)] = {window, ~0ULL, y_.offset(row), int32_t(row), 0};
        gather_window(x, at, windows + window);
    }
    cut_tiles(rows, max_rows_);
    return rows;
}

// Copies all channels of consecutive taps of the innermost axis.
float* ConvRows::gather_taps(const float* from, int64_t taps, float* to) const {
    const int64_t step = window_.dilation[2] * strides_[2];
    if (channel_stride_ == 1 && step == channels_) {
        return copy_run(from, taps * channels_, to);
    }
    for (int64_t tap = 0; tap < taps; ++tap, from += step) {
        for (int64_t channel = 0; channel < channels_; ++channel) {
            *to++ = from[channel * channel_stride_];
        }
    }
    return to;
}

void ConvRows::gather_window(const float* x, const Position& position, float* window) const {
    std::array<IndexRange, kMaxSpatialRank> inside;
    for (size_t axis = 0; axis < kMaxSpatialRank; ++axis) {
        inside[axis] = inside_[axis][size_t(position.out[axis])];
    }
    const int64_t origin = window_offset(position);
    const int64_t row_floats = window_.kernel[2] * channels_;
    const int64_t step = window_.dilation[2] * strides_[2];
    for (int64_t d = 0; d < window_.kernel[0]; ++d) {
        const bool d_inside = d >= inside[0].begin && d < inside[0].end;
        for (int64_t h = 0; h < window_.kernel[1]; ++h, window += row_floats) {
            if (!d_inside || h < inside[1].begin || h >= inside[1].end || inside[2].count() == 0) {
                std::fill_n(window, row_floats, 0.0F);
                continue;
            }
            const float* from =
                x + (origin + d * window_.dilation[0] * strides_[0] +
                     h * window_.dilation[1] * strides_[1] + inside[2].begin * step);
            float* to = std::fill_n(window, inside[2].begin * channels_, 0.0F);
            to = gather_taps(from, inside[2].count(), to);
            std::fill(to, window + row_floats, 0.0F);
        }
    }
}

}  // namespace leat::cpu
