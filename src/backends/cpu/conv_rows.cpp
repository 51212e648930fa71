#include "backends/cpu/conv_rows.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <map>

namespace leat::cpu {

namespace {

// Images of up to this many rows (640 KiB) are kept sorted; larger ones have little padding.
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

ImageRows::ImageRows(const ConvGeometry& geometry,
                     const TensorArg& x,
                     const TensorArg& y,
                     Source source)
    : window_(geometry.window),
      source_(source),
      channels_(geometry.in_channels_per_group()),
      channel_stride_(x.strides[1]) {
    const size_t spatial = size_t(x.shape.rank()) - 2;
    for (size_t axis = 0; axis < spatial; ++axis) {
        strides_[kMaxSpatialRank - spatial + axis] = x.strides[axis + 2];
    }
    TensorArg y_image = y;
    y_image.shape[0] = 1;
    y_ = RowView(y_image, y_image.shape, 1);
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
    const bool padded =
        std::any_of(taps_.begin(), taps_.end(), [](const std::vector<uint64_t>& axis) {
            return std::adjacent_find(axis.begin(), axis.end(), std::not_equal_to<>()) !=
                   axis.end();
        });
    if (padded && window_.output_count() <= kMaxSortedRows) {
        sort_by_padding();
    }
}

// Bits of the taps whose position on an axis is in the range.
uint64_t ImageRows::tap_bits(int axis, IndexRange range) const {
    uint64_t bits = 0;
    for (int64_t tap = 0; tap < window_.kernel_count(); ++tap) {
        const int64_t on_axis = position_of(tap, window_.kernel)[size_t(axis)];
        bits |= uint64_t{on_axis >= range.begin && on_axis < range.end} << tap;
    }
    return bits;
}

int64_t ImageRows::tap_offset(int64_t tap) const {
    const Extents at = position_of(tap, window_.kernel);
    int64_t offset = 0;
    for (size_t axis = 0; axis < at.size(); ++axis) {
        offset += at[axis] * window_.dilation[axis] * strides_[axis];
    }
    return offset;
}

bool ImageRows::can_copy_lines(const ConvGeometry& geometry, const TensorArg& x) {
    const int64_t channels = geometry.in_channels_per_group();
    const WindowGeometry& window = geometry.window;
    return x.strides[1] == 1 && window.dilation[2] == 1 && window.kernel[2] > 1 &&
           x.strides[size_t(x.shape.rank()) - 1] == channels &&
           window.kernel[2] * channels <= kMaxSegmentElements;
}

int64_t ImageRows::copied_floats(int64_t rows) const {
    if (source_ == Source::kWindows) {
        return rows * window_.kernel_count() * channels_;
    }
    const int64_t lines = divide_up(rows - 1, window_.output[2]) + 1;
    return lines * window_lines() * line_floats();
}

std::vector<GemmSegment> ImageRows::segments() const {
    std::vector<GemmSegment> segments;
    if (source_ == Source::kWindows) {
        return PanelGemm::plain_segments(window_.kernel_count() * channels_);
    }
    if (source_ == Source::kLines) {
        for (int64_t line = 0; line < window_lines(); ++line) {
            PanelGemm::add_segments(segments, line * line_floats(), window_.kernel[2] * channels_,
                                    0);
        }
        return segments;
    }
    for (int64_t tap = 0; tap < window_.kernel_count(); ++tap) {
        PanelGemm::add_segments(segments, tap_offset(tap), channels_, int32_t(tap));
    }
    return segments;
}

void ImageRows::advance(Position& position) const {
    for (size_t axis = kMaxSpatialRank; axis-- > 0;) {
        if (++position[axis] < window_.output[axis]) {
            return;
        }
        position[axis] = 0;
    }
}

int64_t ImageRows::window_offset(const Position& position) const {
    int64_t offset = 0;
    for (int axis = 0; axis < kMaxSpatialRank; ++axis) {
        offset += window_.origin(axis, position[size_t(axis)]) * strides_[size_t(axis)];
    }
    return offset;
}

void ImageRows::fill(int64_t first_row, int64_t end_row, GemmRow* rows) const {
    Position at = position_of(first_row, window_.output);
    const int64_t step = window_.stride[2] * strides_[2];
    for (int64_t row = first_row; row < end_row;) {
        // One run of positions on the innermost axis.
        const int64_t count = std::min(window_.output[2] - at[2], end_row - row);
        const uint64_t taps = taps_[0][size_t(at[0])] & taps_[1][size_t(at[1])];
        const uint64_t* w_taps = taps_[2].data() + at[2];
        const int64_t offset = window_offset(at);
        const int64_t y_offset = y_.offset(row);
        const int64_t y_step = count > 1 ? y_.offset(row + 1) - y_offset : 0;
        for (int64_t i = 0; i < count; ++i) {
            *rows++ = {offset + i * step, taps & w_taps[i], y_offset + i * y_step, int32_t(row + i),
                       0};
        }
        row += count;
        at[2] += count - 1;
        advance(at);
    }
}

// Fills classes_, and sorted_ with rows of equal padding together.
void ImageRows::sort_by_padding() {
    std::map<uint64_t, int64_t, std::greater<>> rows_of;
    for (const uint64_t d : taps_[0]) {
        for (const uint64_t h : taps_[1]) {
            for (const uint64_t w : taps_[2]) {
                ++rows_of[d & h & w];
            }
        }
    }
    classes_.reserve(rows_of.size());
    for (const auto& [taps, rows] : rows_of) {
        classes_.push_back({taps, rows});
    }
    // Otherwise the most complete windows first.
    std::stable_sort(classes_.begin(), classes_.end(),
                     [](const PaddingClass& a, const PaddingClass& b) {
                         return std::min(a.rows, kMinClassRows) > std::min(b.rows, kMinClassRows);
                     });
    std::vector<int64_t> next;
    next.reserve(classes_.size());
    int64_t begin = 0;
    for (const PaddingClass& own : classes_) {
        next.push_back(begin);
        begin += own.rows;
    }
    std::vector<GemmRow> in_order(static_cast<size_t>(begin));
    fill(0, begin, in_order.data());
    sorted_.resize(in_order.size());
    size_t at = 0;  // neighbours are mostly of one class
    for (const GemmRow& row : in_order) {
        if (classes_[at].taps != row.taps) {
            at = 0;
            while (classes_[at].taps != row.taps) {
                ++at;
            }
        }
        sorted_[size_t(next[at]++)] = row;
    }
}

// Copies all channels of consecutive taps of the innermost axis.
float* ImageRows::gather_taps(const float* from, int64_t taps, float* to) const {
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

void ImageRows::gather_window(const float* image, const Position& position, float* window) const {
    std::array<IndexRange, kMaxSpatialRank> inside;
    for (size_t axis = 0; axis < kMaxSpatialRank; ++axis) {
        inside[axis] = inside_[axis][size_t(position[axis])];
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
                image + (origin + d * window_.dilation[0] * strides_[0] +
                         h * window_.dilation[1] * strides_[1] + inside[2].begin * step);
            float* to = std::fill_n(window, inside[2].begin * channels_, 0.0F);
            to = gather_taps(from, inside[2].count(), to);
            std::fill(to, window + row_floats, 0.0F);
        }
    }
}

// Of a line of the input, which is null where all of it is padding: columns from `first` on.
void ImageRows::copy_line(const float* line, int64_t first, int64_t columns, float* to) const {
    const int64_t begin = line == nullptr ? columns : std::clamp<int64_t>(-first, 0, columns);
    const int64_t end =
        line == nullptr ? columns : std::clamp<int64_t>(window_.input[2] - first, begin, columns);
    std::fill(to, to + begin * channels_, 0.0F);
    if (begin < end) {
        std::copy_n(line + (first + begin) * channels_, (end - begin) * channels_,
                    to + begin * channels_);
    }
    std::fill(to + end * channels_, to + columns * channels_, 0.0F);
}

void ImageRows::copy_lines(const float* image,
                           const Position& first,
                           int64_t count,
                           float* lines) const {
    const int64_t columns = (count - 1) * window_.stride[2] + window_.kernel[2];
    for (int64_t tap_d = 0; tap_d < window_.kernel[0]; ++tap_d) {
        const int64_t d = window_.origin(0, first[0]) + tap_d * window_.dilation[0];
        const bool d_inside = d >= 0 && d < window_.input[0];
        for (int64_t tap_h = 0; tap_h < window_.kernel[1]; ++tap_h, lines += line_floats()) {
            const int64_t h = window_.origin(1, first[1]) + tap_h * window_.dilation[1];
            const bool is_inside = d_inside && h >= 0 && h < window_.input[1];
            copy_line(is_inside ? image + d * strides_[0] + h * strides_[1] : nullptr,
                      window_.origin(2, first[2]), columns, lines);
        }
    }
}

ConvRows::ConvRows(std::shared_ptr<const ImageRows> image, const TensorArg& x, const TensorArg& y)
    : image_(std::move(image)),
      batch_(x.shape[0]),
      image_rows_(image_->window_.output_count()),
      batch_stride_(x.strides[0]),
      y_batch_stride_(y.strides[0]) {
    if (!image_->sorted_.empty()) {
        find_sorted_runs();
    }
}

// Classes that are small in the whole batch go together.
void ConvRows::find_sorted_runs() {
    runs_.reserve(image_->classes_.size());
    int64_t image_begin = 0;
    bool is_small = false;
    for (const ImageRows::PaddingClass& own : image_->classes_) {
        if (is_small) {
            runs_.back().rows += own.rows;
        } else {
            runs_.push_back({image_begin * batch_, own.rows, image_begin});
        }
        is_small = is_small || own.rows * batch_ < kMinClassRows;
        image_begin += own.rows;
    }
}

void ConvRows::cut_blocks(GemmBlocking& blocking, int max_rows) {
    max_rows_ = max_rows;
    row_blocks_ = blocking.row_blocks;
    if (runs_.empty()) {
        blocking.rows = row_blocks_ > 0 ? divide_up(count(), row_blocks_) : 0;
        return;
    }
    blocking.rows = 0;
    int64_t begin = 0;
    for (int64_t block = 0; block < row_blocks_; ++block) {
        const int64_t end = block_begin(block + 1);
        blocking.rows = std::max(blocking.rows, end - begin);
        begin = end;
    }
}

int64_t ConvRows::block_begin(int64_t index) const {
    const int64_t row = part_begin(count(), row_blocks_, index);
    return runs_.empty() ? row : next_tile(row);
}

int64_t ConvRows::next_tile(int64_t row) const {
    for (const SortedRun& run : runs_) {
        const int64_t rows = run.rows * batch_;
        if (row < run.begin + rows) {
            const int64_t tiles = divide_up(rows, max_rows_);
            const int64_t tile = part_at(rows, tiles, row - run.begin);
            const int64_t begin = run.begin + part_begin(rows, tiles, tile);
            return begin == row ? row : run.begin + part_begin(rows, tiles, tile + 1);
        }
    }
    return row;
}

// Rows [begin, end) of a run, counted from its first: whole register tiles.
GemmRow* ConvRows::fill_run(const SortedRun& run, int64_t begin, int64_t end, GemmRow* rows) const {
    int64_t n = begin / run.rows;
    int64_t in_image = begin % run.rows;
    GemmRow* to = rows;
    for (int64_t left = end - begin; left > 0; ++n, in_image = 0) {
        const int64_t count = std::min(run.rows - in_image, left);
        const GemmRow* from = image_->sorted_.data() + run.image_begin + in_image;
        for (int64_t i = 0; i < count; ++i) {
            to[i] = {from[i].a_offset + n * batch_stride_, from[i].taps,
                     from[i].dst_offset + n * y_batch_stride_,
                     from[i].row + int32_t(n * image_rows_), 0};
        }
        to += count;
        left -= count;
    }
    const int64_t run_rows = run.rows * batch_;
    const int64_t tiles = divide_up(run_rows, max_rows_);
    for (int64_t tile = part_at(run_rows, tiles, begin), at = begin; at < end; ++tile) {
        const int64_t next = part_begin(run_rows, tiles, tile + 1);
        rows[at - begin].tile_rows = int32_t(next - at);
        at = next;
    }
    return to;
}

void ConvRows::fill_in_order(int64_t begin, int64_t end, GemmRow* rows) const {
    for (int64_t row = begin; row < end;) {
        const int64_t n = row / image_rows_;
        const int64_t first = row % image_rows_;
        const int64_t count = std::min(image_rows_ - first, end - row);
        image_->fill(first, first + count, rows);
        for (int64_t i = 0; i < count; ++i) {
            rows[i].a_offset += n * batch_stride_;
            rows[i].dst_offset += n * y_batch_stride_;
            rows[i].row += int32_t(n * image_rows_);
        }
        rows += count;
        row += count;
    }
}

std::span<const GemmRow> ConvRows::block(int64_t index, GemmRow* scratch) const {
    const int64_t begin = block_begin(index);
    const int64_t end = block_begin(index + 1);
    const std::span<GemmRow> rows(scratch, size_t(end - begin));
    if (runs_.empty()) {
        fill_in_order(begin, end, scratch);
        cut_tiles(rows, max_rows_);
        return rows;
    }
    for (const SortedRun& run : runs_) {
        const int64_t first = std::max(begin - run.begin, int64_t{0});
        const int64_t last = std::min(end - run.begin, run.rows * batch_);
        if (first < last) {
            scratch = fill_run(run, first, last, scratch);
        }
    }
    return rows;
}

void ConvRows::copy_lines(const float* x,
                          Extents at,
                          float* copied,
                          std::span<GemmRow> rows) const {
    image_->copy_lines(x, at, int64_t(rows.size()), copied);
    const int64_t step = image_->window_.stride[2] * image_->channels_;
    for (size_t i = 0; i < rows.size(); ++i) {
        rows[i].a_offset = int64_t(i) * step;
    }
}

void ConvRows::copy_windows(const float* x,
                            Extents at,
                            float* copied,
                            std::span<GemmRow> rows) const {
    const int64_t k = image_->window_.kernel_count() * image_->channels_;
    for (size_t i = 0; i < rows.size(); ++i, ++at[2]) {
        rows[i].a_offset = int64_t(i) * k;
        image_->gather_window(x, at, copied + rows[i].a_offset);
    }
}

std::span<const GemmRow> ConvRows::copy(int64_t index,
                                        const float* x,
                                        float* copied,
                                        GemmRow* scratch) const {
    const int64_t begin = block_begin(index);
    const int64_t end = block_begin(index + 1);
    const std::span<GemmRow> rows(scratch, size_t(end - begin));
    const bool copies_lines = image_->source_ == ImageRows::Source::kLines;
    float* to = copied;
    for (int64_t row = begin; row < end;) {
        const int64_t n = row / image_rows_;
        const int64_t in_image = row % image_rows_;
        const Extents at = position_of(in_image, image_->window_.output);
        const int64_t count = std::min(image_->window_.output[2] - at[2], end - row);
        const std::span<GemmRow> line = rows.subspan(size_t(row - begin), size_t(count));
        const float* image = x + n * batch_stride_;
        if (copies_lines) {
            copy_lines(image, at, to, line);
        } else {
            copy_windows(image, at, to, line);
        }
        const int64_t y_offset = n * y_batch_stride_ + image_->y_.offset(in_image);
        const int64_t y_step =
            count > 1 ? image_->y_.offset(in_image + 1) - image_->y_.offset(in_image) : 0;
        for (int64_t i = 0; i < count; ++i) {
            line[size_t(i)] = {to - copied + line[size_t(i)].a_offset, ~0ULL, y_offset + i * y_step,
                               int32_t(row + i), 0};
        }
        to += image_->copied_floats(copies_lines ? 1 : count);
        row += count;
    }
    cut_tiles(rows, max_rows_);
    return rows;
}

}  // namespace leat::cpu
