// The register tile of matrix products and dense convolutions: rows x (panels * nr) f32 results at
// a time.
//
//   c[r, j] = sum_k a[r, k] * b[k, j], with k in increasing order in one chain per result. The
//   order does not depend on the tile's height, on how many panels a call takes or on how K is cut
//   into blocks, so the bits of a result depend on its row and column only.
//
// A is read in place: each row has an offset, and K is a list of segments that lie anywhere
// relative to it (one segment for a product, one per kernel tap for a convolution). B is read in
// panels of nr columns, k rows of b_row_stride elements.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace leat::cpu {

inline constexpr int kMaxTileRows = 14;
inline constexpr int kMaxPanelsPerCall = 4;
inline constexpr int kMaxPanelColumns = 32;
// Longest segment: padded taps read from that many zeros.
inline constexpr int64_t kMaxSegmentElements = 768;

// One row of A and where its result goes.
struct GemmRow {
    int64_t a_offset = 0;  // elements from MicroCall::a; may be negative where the taps say padding
    uint64_t taps = ~0ULL;   // bit t: tap t lies inside the input; otherwise it reads as zeros
    int64_t dst_offset = 0;  // elements from MicroCall::dst
    int32_t row = 0;         // row number in the whole result, for epilogue operands
    int32_t tile_rows = 0;   // in the first row of a register tile: its height; elsewhere unused
};

// `length` consecutive elements of K, `offset` elements from each row's first.
struct GemmSegment {
    int64_t offset = 0;
    int32_t length = 0;
    int32_t tap = 0;  // bit in GemmRow::taps, < 64
};

// One call. Sums start at partial_in or zero and go to partial_out or, finished, to dst.
struct MicroCall {
    const GemmRow* rows = nullptr;
    const float* a = nullptr;
    const GemmSegment* segments = nullptr;
    int64_t segment_count = 0;
    const float* b = nullptr;  // row of the first segment, first panel
    int64_t b_row_stride = 0;
    int64_t b_panel_stride = 0;
    // Read soon: consecutive cache lines, prefetched one per step of K. Ignored by calls of several
    // panels, which prefetch their own, unless these lie side by side.
    const float* prefetch = nullptr;
    int64_t prefetch_lines = 0;

    const float* partial_in = nullptr;  // rows x panels * nr; null: zeros
    float* partial_out = nullptr;
    int64_t partial_stride = 0;

    // y = min(max(sum + bias + residual, low), high), each part only if present.
    float* dst = nullptr;
    int64_t dst_stride = -1;      // >= 0: row r goes to dst + r * dst_stride, not to its dst_offset
    const float* bias = nullptr;  // panels * nr elements
    const float* residual = nullptr;  // first column of row 0 of the whole result
    int64_t residual_stride = 0;
    bool clip = false;
    float low = 0;
    float high = 0;
    int32_t tail_columns =
        0;  // of the last vector of GemmTable::tails; no other is read or written
};
using MicroKernel = void (*)(const MicroCall& call);

// The kernels of one instruction set.
struct GemmTable {
    std::string_view name;  // "gemm_f32_6x16"
    int nr = 0;             // columns of a panel: two vectors
    int max_rows = 0;
    std::array<int, kMaxTileRows + 1> wide_panels{};  // by height: panels of a call of wide[height]
    std::array<MicroKernel, kMaxTileRows + 1> single{};  // by height: one panel
    std::array<MicroKernel, kMaxTileRows + 1> wide{};
    // By vectors (1 or 2, less 1) and height: the first columns of a panel. Null: this instruction
    // set has no masks.
    std::array<std::array<MicroKernel, kMaxTileRows + 1>, 2> tails{};
    // Writes [k][nr] panels of a matrix with unit column stride; missing columns become zeros.
    void (*pack_rows)(
        const float* b, int64_t b_row_stride, int64_t k, int64_t columns, float* panels) = nullptr;
    // The same of a matrix whose rows of one column are adjacent.
    void (*pack_columns)(const float* b,
                         int64_t b_column_stride,
                         int64_t k,
                         int64_t columns,
                         float* panels) = nullptr;
};

// Of the best instruction set of this machine.
const GemmTable& gemm_table();

}  // namespace leat::cpu
