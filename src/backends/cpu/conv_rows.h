// ConvRows: the windows of a convolution as rows of A for the microkernel.
//
// A row is a position of the result (n, d, h, w; row numbers count them in that order). Rows are
// handed out in blocks, in an order that ConvRows chooses: windows with equal padding lie together.
// What a single image decides is in ImageRows, which the kernels of all batches share.
#pragma once

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
    // innermost. kGathered: windows are copied, padding included.
    enum class Source : uint8_t { kInPlace, kGathered };

    // Rows of equal padding, or of several such sets that are small.
    struct PaddingClass {
        uint64_t taps = 0;
        int64_t rows = 0;  // of an image
    };

    // x, y: of any batch.
    ImageRows(const ConvGeometry& geometry, const TensorArg& x, const TensorArg& y, Source source);

    bool gathers() const { return source_ == Source::kGathered; }
    // Elements from a group's first channel to the next group's.
    int64_t group_stride() const { return channels_ * channel_stride_; }
    // Elements from a window's origin to a tap.
    int64_t tap_offset(int64_t tap) const;

  private:
    friend class ConvRows;
    using Position = Extents;  // d h w of the result

    uint64_t tap_bits(int axis, IndexRange range) const;
    void sort_by_padding();
    void advance(Position& position) const;
    int64_t window_offset(const Position& position) const;
    // Rows [first_row, end_row) in their own order.
    void fill(int64_t first_row, int64_t end_row, GemmRow* rows) const;
    float* gather_taps(const float* from, int64_t taps, float* to) const;
    void gather_window(const float* image, const Position& position, float* window) const;

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
    // The rows of a block, for a = windows, to which the windows of x are copied.
    std::span<const GemmRow> gather(int64_t index,
                                    const float* x,
                                    float* windows,
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
