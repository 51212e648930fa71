// ConvRows: the windows of a convolution as rows of A for the microkernel.
//
// A row is a position of the result (n, d, h, w; row numbers count them in that order). Rows are
// handed out in blocks, in an order that ConvRows chooses: windows with equal padding lie together.
// What a single image decides is in ImageRows, which the kernels of all batches share.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "backends/cpu/epilogue.h"
#include "backends/cpu/gemm.h"
#include "ops/conv/conv.h"

namespace leat::cpu {

// The windows of one image. Immutable.
class ImageRows {
  public:
    // kInPlace: windows are read where they are, a segment a tap; at most 64 taps, channels
    // innermost. kLines: each line of results has its lines of the input copied, padding included,
    // and a window is a segment of each; can_copy_lines(). kWindows: each window is copied.
    enum class Source : uint8_t { kInPlace, kLines, kWindows };

    // Rows of equal padding, or of several such sets that are small.
    struct PaddingClass {
        uint64_t taps = 0;
        int64_t rows = 0;  // of an image
    };

    // x, y: of any batch.
    ImageRows(const ConvGeometry& geometry, const TensorArg& x, const TensorArg& y, Source source);

    // True if the taps of a window that lie side by side on the innermost axis do so in memory.
    static bool can_copy_lines(const ConvGeometry& geometry, const TensorArg& x);

    bool copies() const { return source_ != Source::kInPlace; }
    // Floats that a block of so many rows copies, at most.
    int64_t copied_floats(int64_t rows) const;
    // K in the order (tap, channel), relative to a row's first element.
    std::vector<GemmSegment> segments() const;
    // Elements from a group's first channel to the next group's.
    int64_t group_stride() const { return channels_ * channel_stride_; }

  private:
    friend class ConvRows;
    using Position = Extents;  // d h w of the result

    // Elements from a window's origin to a tap.
    int64_t tap_offset(int64_t tap) const;
    // Of a line of the input, with its padding: what a block reads of it.
    int64_t line_floats() const {
        const int64_t rows = std::min(window_.output[2], GemmBlocking::kMostRows);
        return ((rows - 1) * window_.stride[2] + window_.kernel[2]) * channels_;
    }
    // Lines of the input that one line of results needs.
    int64_t window_lines() const { return window_.kernel[0] * window_.kernel[1]; }

    uint64_t tap_bits(int axis, IndexRange range) const;
    void sort_by_padding();
    void advance(Position& position) const;
    int64_t window_offset(const Position& position) const;
    // Rows [first_row, end_row) in their own order.
    void fill(int64_t first_row, int64_t end_row, GemmRow* rows) const;
    float* gather_taps(const float* from, int64_t taps, float* to) const;
    void gather_window(const float* image, const Position& position, float* window) const;
    // What `count` windows read from this one on, on the innermost axis.
    void copy_lines(const float* image, const Position& first, int64_t count, float* lines) const;
    void copy_line(const float* line, int64_t first, int64_t columns, float* to) const;

    WindowGeometry window_;
    Source source_;
    int64_t channels_ = 0;  // of a group
    int64_t channel_stride_ = 0;
    Extents strides_{};  // of x, d h w
    RowView y_;          // of one image
    // By axis and output position: the taps inside the input, and (kInPlace) as bits of all taps.
    std::array<std::vector<IndexRange>, kMaxSpatialRank> inside_;
    std::array<std::vector<uint64_t>, kMaxSpatialRank> taps_;
    std::vector<GemmRow> sorted_;        // all rows, class by class; empty: rows in their own order
    std::vector<PaddingClass> classes_;  // of sorted_: the smallest ones last
};

class ConvRows {
  public:
    ConvRows(std::shared_ptr<const ImageRows> image, const TensorArg& x, const TensorArg& y);

    const std::shared_ptr<const ImageRows>& image() const { return image_; }
    int64_t count() const { return batch_ * image_rows_; }

    // Fixes the blocks; blocking.rows grows to the largest one.
    void cut_blocks(GemmBlocking& blocking, int max_rows);

    // The rows of a block, for a = x. `scratch` has space for blocking.rows.
    std::span<const GemmRow> block(int64_t index, GemmRow* scratch) const;
    // The rows of a block, for a = copied, to which what they read of x is copied.
    std::span<const GemmRow> copy(int64_t index,
                                  const float* x,
                                  float* copied,
                                  GemmRow* scratch) const;

  private:
    // Rows of one padding class, or of all small ones: image after image.
    struct SortedRun {
        int64_t begin = 0;        // of its first row among all
        int64_t rows = 0;         // of an image
        int64_t image_begin = 0;  // in ImageRows::sorted_
    };
    void find_sorted_runs();
    int64_t block_begin(int64_t index) const;
    // The first row at or after `row` where a register tile may begin.
    int64_t next_tile(int64_t row) const;
    GemmRow* fill_run(const SortedRun& run, int64_t begin, int64_t end, GemmRow* rows) const;
    void fill_in_order(int64_t begin, int64_t end, GemmRow* rows) const;
    // Rows of one line of results, from its position `at` on.
    void copy_lines(const float* x, Extents at, float* copied, std::span<GemmRow> rows) const;
    void copy_windows(const float* x, Extents at, float* copied, std::span<GemmRow> rows) const;

    std::shared_ptr<const ImageRows> image_;
    int64_t batch_;
    int64_t image_rows_;
    int64_t batch_stride_;  // of x
    int64_t y_batch_stride_;
    std::vector<SortedRun> runs_;  // none: rows in their own order
    int64_t row_blocks_ = 1;
    int max_rows_ = 1;
};

}  // namespace leat::cpu
