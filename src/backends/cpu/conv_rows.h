// ConvRows: the windows of a convolution as rows of A for the microkernel.
//
// A row is a position of the result (n, d, h, w; row numbers count them in that order). Rows are
// handed out in blocks, in an order that ConvRows chooses: windows with equal padding lie together.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "backends/cpu/epilogue.h"
#include "backends/cpu/gemm.h"
#include "ops/conv/conv.h"

namespace leat::cpu {

class ConvRows {
  public:
    // kInPlace: windows are read where they are, a segment a tap; at most 64 taps, channels
    // innermost. kGathered: windows are copied, padding included.
    enum class Source : uint8_t { kInPlace, kGathered };

    ConvRows(const ConvGeometry& geometry, const TensorArg& x, const TensorArg& y, Source source);

    bool gathers() const { return source_ == Source::kGathered; }
    int64_t count() const { return count_; }
    // Elements from a group's first channel to the next group's.
    int64_t group_stride() const { return channels_ * channel_stride_; }
    // Elements from a window's origin to a tap.
    int64_t tap_offset(int64_t tap) const;

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
    struct Position {
        int64_t n = 0;
        Extents out{};
    };
    uint64_t tap_bits(int axis, IndexRange range) const;
    Position position(int64_t row) const;
    void advance(Position& position) const;
    int64_t window_offset(const Position& position) const;
    std::span<GemmRow> fill(int64_t first_row, int64_t end_row, GemmRow* rows) const;
    struct PaddingClass;
    std::vector<PaddingClass> padding_classes() const;
    void sort_by_padding(int max_rows);
    float* gather_taps(const float* from, int64_t taps, float* to) const;
    void gather_window(const float* x, const Position& position, float* window) const;

    WindowGeometry window_;
    Source source_;
    int64_t batch_ = 0;
    int64_t channels_ = 0;  // of a group
    int64_t count_ = 0;
    int64_t batch_stride_ = 0;
    int64_t channel_stride_ = 0;
    Extents strides_{};  // of x, d h w
    RowView y_;
    // By axis and output position: the taps inside the input, and (kInPlace) as bits of all taps.
    std::array<std::vector<IndexRange>, kMaxSpatialRank> inside_;
    std::array<std::vector<uint64_t>, kMaxSpatialRank> taps_;
    std::vector<GemmRow> sorted_;       // all rows; empty: rows in their own order
    std::vector<int64_t> block_begin_;  // of each block, and the end
    int max_rows_ = 1;
};

}  // namespace leat::cpu
