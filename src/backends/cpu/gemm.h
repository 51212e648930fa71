// PanelGemm: blocks of a product or convolution as calls of the microkernel, with the epilogue.
//
// One PanelGemm describes what all blocks of an operator share: how K is walked, the result's
// columns and the epilogue. run() computes one block of rows x columns. Blocks are independent, and
// how a result is cut into blocks changes no bit of it. Thread safety: immutable; run() from any
// thread with its own scratch.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "backends/cpu/cpu_kernel.h"
#include "backends/cpu/epilogue.h"
#include "backends/cpu/gemm_micro.h"
#include "base/parts.h"
#include "base/round_up.h"

namespace leat::cpu {

// Cuts `rows` into register tiles of nearly equal height.
void cut_tiles(std::span<GemmRow> rows, int max_rows);

// Sets of results that become one tile of the scheduler.
struct GemmBlocking {
    // Of a block: with the depth of a block of K they are a fraction of any L2.
    static constexpr int64_t kMostRows = 144;

    int64_t row_blocks = 1;
    int64_t panel_blocks = 1;
    int64_t rows = 0;    // of a block, at most
    int64_t panels = 0;  // of a block, at most

    // Each tile copies its rows: then a block has all columns.
    enum class Rows : uint8_t { kInPlace, kCopied };

    // One of `count` products of m rows, n columns and depth k. Depends on shapes only, never on
    // threads.
    static GemmBlocking choose(int64_t count,
                               int64_t m,
                               int64_t n,
                               int64_t k,
                               const GemmTable& table,
                               Rows source = Rows::kInPlace);
};

// Estimated time of 2mnk floating-point operations on one worker, which reads so many bytes of B.
double gemm_cost_ns(double flops, double weight_bytes = 0);

class PanelGemm {
  public:
    // Appends `length` elements of K that lie `offset` elements from each row's first.
    static void add_segments(std::vector<GemmSegment>& segments,
                             int64_t offset,
                             int64_t length,
                             int32_t tap);
    // Those of a matrix whose rows are contiguous.
    static std::vector<GemmSegment> plain_segments(int64_t k) {
        std::vector<GemmSegment> segments;
        add_segments(segments, 0, k, 0);
        return segments;
    }

    PanelGemm(std::vector<GemmSegment> segments, Epilogue epilogue, int64_t dst_column_stride);

    struct Block {
        const KernelArgs* args = nullptr;
        const float* a = nullptr;
        std::span<const GemmRow> rows;  // with tiles cut
        const float* b = nullptr;       // first panel
        int64_t b_row_stride = 0;
        int64_t b_panel_stride = 0;
        // The last panel if it is not full and b is not padded: rows of nr elements.
        const float* b_tail = nullptr;
        // First panel of the block that the same worker probably runs next, to prefetch; or null.
        const float* b_next = nullptr;
        int64_t column = 0;    // of the whole result
        int64_t columns = 0;   // of the block; only the last panel may be partial
        float* dst = nullptr;  // row 0, column 0 of the whole result
        float* scratch = nullptr;
    };
    Status run(const Block& block) const;

    int64_t k() const { return k_; }
    // Floats of Block::scratch for blocks up to that size.
    int64_t scratch_floats(int64_t rows, int64_t panels) const;

  private:
    struct KBlock {
        int64_t segment_begin = 0;
        int64_t segment_end = 0;
        int64_t k_begin = 0;
        int64_t k_end = 0;
        bool first = false;
        bool last = false;
    };
    struct Call;
    Status run_k_block(const Block& block, const KBlock& k_block) const;
    void prefetch_next_panel(Call& call, int64_t full_panels) const;
    const float* next_panel(const Call& call, int64_t full_panels) const;
    Status run_tile(Call& call) const;
    Status finish_buffered(const Call& call, int64_t stride, bool has_residual_left) const;

    const GemmTable& table_;
    std::vector<GemmSegment> segments_;
    std::vector<KBlock> k_blocks_;
    int64_t k_ = 0;
    Epilogue epilogue_;
    int64_t dst_column_stride_ = 1;
};

}  // namespace leat::cpu
