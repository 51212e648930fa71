#include "backends/cpu/gemm.h"

#include <algorithm>

namespace leat::cpu {

namespace {

// K of a block of B that stays in L1 while the rows of a block pass: 16 KiB of 32 (AVX2), 32 of 48
// (AVX-512).
constexpr int64_t kBlockK = 768;
static_assert(kBlockK <= kMaxSegmentElements);
constexpr int64_t kLineFloats = 16;
// Copied rows of a block: 256 KiB.
constexpr double kCopiedFloats = 1 << 16;
// Work of one tile of the scheduler: 30 to 160 us at 100 GF/s.
constexpr double kMinTaskFlops = 3e6;
constexpr double kMaxTaskFlops = 16e6;
constexpr double kAimedTasks = 16;
// Weights read by one tile when there are few rows: 10 to 40 us at 25 GB/s.
constexpr double kMinStreamBytes = 1 << 18;
constexpr double kMaxStreamBytes = 1 << 20;
constexpr double kAssumedFlopsPerNs = 50;
constexpr double kAssumedBytesPerNs = 25;

}  // namespace

void cut_tiles(std::span<GemmRow> rows, int max_rows) {
    const auto count = int64_t(rows.size());
    const int64_t tiles = divide_up(count, max_rows);
    for (int64_t tile = 0; tile < tiles; ++tile) {
        const int64_t begin = part_begin(count, tiles, tile);
        rows[size_t(begin)].tile_rows = int32_t(part_begin(count, tiles, tile + 1) - begin);
    }
}

GemmBlocking GemmBlocking::choose(
    int64_t count, int64_t m, int64_t n, int64_t k, const GemmTable& table, Rows source) {
    GemmBlocking blocking;
    const int64_t panels = divide_up(n, table.nr);
    if (m == 0 || n == 0) {
        blocking.row_blocks = blocking.panel_blocks = 0;
        return blocking;
    }
    const double depth = double(std::max<int64_t>(k, 1));
    const double total = 2.0 * double(count) * double(m) * double(panels * table.nr) * depth;
    const double task_flops = std::clamp(total / kAimedTasks, kMinTaskFlops, kMaxTaskFlops);
    if (source == Rows::kCopied) {
        const double fit =
            std::min(task_flops / (total / double(count * m)), kCopiedFloats / depth);
        blocking.panel_blocks = 1;
        blocking.panels = panels;
        blocking.row_blocks =
            divide_up(m, std::clamp<int64_t>(int64_t(fit), table.max_rows, kMostRows));
        blocking.rows = divide_up(m, blocking.row_blocks);
        return blocking;
    }
    blocking.row_blocks = divide_up(m, kMostRows);
    blocking.rows = divide_up(m, blocking.row_blocks);
    double fit = task_flops / (2.0 * double(blocking.rows) * depth * table.nr);
    if (m <= table.max_rows) {
        const int64_t wide = table.wide_panels[size_t(m)];
        const double panel_bytes = depth * table.nr * double(sizeof(float));
        const double stream = std::clamp(double(count * panels) * panel_bytes / kAimedTasks,
                                         kMinStreamBytes, kMaxStreamBytes) /
                              panel_bytes;
        fit = double(divide_up(int64_t(std::min(fit, stream)), wide) * wide);
    }
    const auto wanted = std::max<int64_t>(int64_t(std::min(fit, double(panels))), 1);
    blocking.panel_blocks = divide_up(panels, wanted);
    blocking.panels = divide_up(panels, blocking.panel_blocks);
    blocking.panel_blocks = divide_up(panels, blocking.panels);
    return blocking;
}

double gemm_cost_ns(double flops, double weight_bytes) {
    return std::max(flops / kAssumedFlopsPerNs, weight_bytes / kAssumedBytesPerNs);
}

void PanelGemm::add_segments(std::vector<GemmSegment>& segments,
                             int64_t offset,
                             int64_t length,
                             int32_t tap) {
    const int64_t parts = divide_up(length, kBlockK);
    for (int64_t part = 0; part < parts; ++part) {
        const int64_t begin = part_begin(length, parts, part);
        segments.push_back(
            {offset + begin, int32_t(part_begin(length, parts, part + 1) - begin), tap});
    }
}

PanelGemm::PanelGemm(std::vector<GemmSegment> segments,
                     Epilogue epilogue,
                     int64_t dst_column_stride)
    : table_(gemm_table()),
      segments_(std::move(segments)),
      epilogue_(std::move(epilogue)),
      dst_column_stride_(dst_column_stride) {
    int64_t total = 0;
    for (const GemmSegment& segment : segments_) {
        total += segment.length;
    }
    // Blocks of nearly equal depth.
    const int64_t aimed = divide_up(total, std::max<int64_t>(divide_up(total, kBlockK), 1));
    k_blocks_.emplace_back();
    for (size_t i = 0; i < segments_.size(); ++i) {
        const int64_t length = segments_[i].length;
        const int64_t depth = k_blocks_.back().k_end - k_blocks_.back().k_begin;
        // Less than half of the segment would fit.
        if (depth > 0 && 2 * (depth + length - aimed) > length) {
            k_blocks_.push_back({int64_t(i), int64_t(i), k_, k_});
        }
        k_blocks_.back().segment_end = int64_t(i) + 1;
        k_ += length;
        k_blocks_.back().k_end = k_;
    }
    k_blocks_.front().first = true;
    k_blocks_.back().last = true;
}

int64_t PanelGemm::scratch_floats(int64_t rows, int64_t panels) const {
    const int64_t tile = int64_t{kMaxTileRows} * kMaxPanelsPerCall * table_.nr;
    return tile + (k_blocks_.size() > 1 ? rows * panels * table_.nr : 0);
}

// One register tile.
struct PanelGemm::Call {
    const Block& block;
    MicroCall micro;
    const KBlock& k_block;
    int64_t panel = 0;  // of the block
    int64_t panels = 1;
    int64_t row = 0;  // of the block
    int64_t rows = 0;
    MicroKernel kernel = nullptr;
};

Status PanelGemm::run(const Block& block) const {
    if (block.rows.empty() || block.columns == 0) {
        return {};
    }
    // Nothing is reused between blocks of K when the rows are one register tile.
    if (block.rows.front().tile_rows == int32_t(block.rows.size()) || k_blocks_.size() == 1) {
        return run_k_block(block, {0, int64_t(segments_.size()), 0, k_, true, true});
    }
    for (const KBlock& k_block : k_blocks_) {
        LEAT_RETURN_IF_ERROR(run_k_block(block, k_block));
    }
    return {};
}

Status PanelGemm::run_k_block(const Block& block, const KBlock& k_block) const {
    Call call{block, {}, k_block};
    call.micro.a = block.a;
    call.micro.segments = segments_.data() + k_block.segment_begin;
    call.micro.segment_count = k_block.segment_end - k_block.segment_begin;
    const auto row_count = int64_t(block.rows.size());
    const int64_t height = block.rows.front().tile_rows;
    const int64_t full_panels =
        block.b_tail != nullptr ? block.columns / table_.nr : divide_up(block.columns, table_.nr);
    const int64_t panel_count = divide_up(block.columns, table_.nr);
    const int64_t wide = height == row_count ? table_.wide_panels[size_t(height)] : 1;
    for (int64_t panel = 0; panel < panel_count; panel += call.panels) {
        call.panel = panel;
        const bool is_tail = panel >= full_panels;
        call.panels = panel + wide <= full_panels ? wide : 1;
        call.micro.b_row_stride = is_tail ? table_.nr : block.b_row_stride;
        call.micro.b_panel_stride = block.b_panel_stride;
        call.micro.b = (is_tail ? block.b_tail : block.b + panel * block.b_panel_stride) +
                       k_block.k_begin * call.micro.b_row_stride;
        for (call.row = 0; call.row < row_count; call.row += call.rows) {
            call.rows = block.rows[size_t(call.row)].tile_rows;
            call.kernel =
                call.panels > 1 ? table_.wide[size_t(call.rows)] : table_.single[size_t(call.rows)];
            prefetch_next_panel(call, full_panels);
            LEAT_RETURN_IF_ERROR(run_tile(call));
        }
    }
    return {};
}

// What is read of B after the call's panel: the next one of the block, or the first one at the next
// block of K, or the first one of the next block; null if unknown.
const float* PanelGemm::next_panel(const Call& call, int64_t full_panels) const {
    const Block& block = call.block;
    if (call.panel + 1 < full_panels) {
        return call.micro.b + block.b_panel_stride;
    }
    if (!call.k_block.last) {
        return block.b + call.k_block.k_end * block.b_row_stride;
    }
    return block.b_next;
}

// Each row tile of a panel prefetches its share of the next one: its first reader would wait for
// memory.
void PanelGemm::prefetch_next_panel(Call& call, int64_t full_panels) const {
    const Block& block = call.block;
    const float* next = next_panel(call, full_panels);
    call.micro.prefetch_lines = 0;
    if (next == nullptr || block.b_row_stride != table_.nr) {
        return;
    }
    const auto rows = int64_t(block.rows.size());
    const int64_t depth = std::min(call.k_block.k_end - call.k_block.k_begin,
                                   call.k_block.last ? k_ : k_ - call.k_block.k_end);
    const int64_t lines = depth * table_.nr / kLineFloats;
    const int64_t begin = lines * call.row / rows;
    call.micro.prefetch = next + begin * kLineFloats;
    call.micro.prefetch_lines = lines * (call.row + call.rows) / rows - begin;
}

Status PanelGemm::run_tile(Call& call) const {
    const Block& block = call.block;
    MicroCall& micro = call.micro;
    const int64_t nr = table_.nr;
    const int64_t left = block.columns - call.panel * nr;
    const int64_t lanes = nr / 2;
    int64_t tile_columns = call.panels * nr;
    // Whether a call may read and write what it finishes where that is.
    bool is_whole = left >= tile_columns;
    float* tile = block.scratch;
    if (!is_whole && call.panels == 1 && table_.tails[0][size_t(call.rows)] != nullptr) {
        const int64_t vectors = divide_up(left, lanes);
        call.kernel = table_.tails[size_t(vectors - 1)][size_t(call.rows)];
        micro.tail_columns = int32_t(left - (vectors - 1) * lanes);
        tile_columns = vectors * lanes;
        is_whole = true;
    }
    if (!call.k_block.first || !call.k_block.last) {
        const int64_t stride = divide_up(block.columns, nr) * nr;
        float* partial = block.scratch + int64_t{kMaxTileRows} * kMaxPanelsPerCall * nr +
                         call.row * stride + call.panel * nr;
        micro.partial_stride = stride;
        micro.partial_in = call.k_block.first ? nullptr : partial;
        micro.partial_out = call.k_block.last ? nullptr : partial;
    }
    micro.rows = block.rows.data() + call.row;
    if (!call.k_block.last) {
        call.kernel(micro);
        return {};
    }
    const int64_t column = block.column + call.panel * nr;
    // A residual must not be read beyond its last column.
    const bool first_in_registers = is_whole || !epilogue_.has_residual();
    micro.bias =
        first_in_registers && epilogue_.bias() != nullptr ? epilogue_.bias() + column : nullptr;
    micro.clip = first_in_registers && epilogue_.clips();
    micro.low = epilogue_.low();
    micro.high = epilogue_.high();
    micro.residual = nullptr;
    if (is_whole && epilogue_.has_residual()) {
        micro.residual = epilogue_.residual(*block.args) + column;
        micro.residual_stride = epilogue_.residual_stride();
    }
    if (is_whole && dst_column_stride_ == 1 && !epilogue_.has_more()) {
        micro.dst = block.dst + column;
        micro.dst_stride = -1;
        call.kernel(micro);
        return {};
    }
    micro.dst = tile;
    micro.dst_stride = tile_columns;
    call.kernel(micro);
    return finish_buffered(call, tile_columns, !first_in_registers);
}

Status PanelGemm::finish_buffered(const Call& call, int64_t stride, bool has_residual_left) const {
    const Block& block = call.block;
    const int64_t in_block = call.panel * table_.nr;
    const int64_t column = block.column + in_block;
    const int64_t columns = std::min(stride, block.columns - in_block);
    float* tile = block.scratch;
    const std::span<const GemmRow> rows = block.rows.subspan(size_t(call.row), size_t(call.rows));
    if (has_residual_left) {
        for (int64_t r = 0; r < call.rows; ++r) {
            epilogue_.apply_first(*block.args, tile + r * stride, rows[size_t(r)].row, column,
                                  columns);
        }
    }
    if (epilogue_.has_more()) {
        LEAT_RETURN_IF_ERROR(epilogue_.apply(*block.args, tile, stride, rows, column, columns));
    }
    for (int64_t r = 0; r < call.rows; ++r) {
        const float* from = tile + r * stride;
        float* to = block.dst + rows[size_t(r)].dst_offset + column * dst_column_stride_;
        if (dst_column_stride_ == 1) {
            std::copy_n(from, columns, to);
            continue;
        }
        for (int64_t j = 0; j < columns; ++j) {
            to[j * dst_column_stride_] = from[j];
        }
    }
    return {};
}

}  // namespace leat::cpu
