// UnitKernel: a CPU kernel that is one function over a range of independent units of work (rows,
// images, blocks of channels). Units are grouped into tiles by their time, so a unit never depends
// on its tile.
#pragma once

#include <algorithm>
#include <string_view>
#include <utility>

#include "backends/cpu/cpu_kernel.h"
#include "base/parts.h"
#include "ops/axis_split.h"

namespace leat::cpu {

// Computes units [begin, end).
template <class Params>
using UnitFunction =
    void (*)(const Params& params, const KernelArgs& args, int64_t begin, int64_t end);

template <class Params>
class UnitKernel final : public CpuKernel {
  public:
    // name: a literal. total_ns: estimate for all units on one worker.
    UnitKernel(std::string_view name,
               UnitFunction<Params> function,
               Params params,
               int64_t unit_count,
               double total_ns)
        : function_(function), params_(std::move(params)), unit_count_(unit_count) {
        // 40 us hide the cost of handing a tile to a worker (0.1 us) and still balance small
        // operators.
        constexpr double kTileNs = 40e3;
        kernel_name = name;
        cost_ns = total_ns;
        tile_count = std::max<int64_t>(1, std::min(unit_count, int64_t(total_ns / kTileNs)));
    }

    Status run(const KernelArgs& args, int64_t tile_begin, int64_t tile_end) const override {
        const int64_t begin = first_unit(tile_begin);
        const int64_t end = first_unit(tile_end);
        if (begin < end) {
            function_(params_, args, begin, end);
        }
        return {};
    }

  private:
    int64_t first_unit(int64_t tile) const { return part_begin(unit_count_, tile_count, tile); }

    UnitFunction<Params> function_;
    Params params_;
    int64_t unit_count_;
};

inline bool is_channels_last(const TensorArg& arg) {
    return arg.shape.rank() >= 3 && arg.lies_as(Layout::kChannelsLast);
}

// True if every present operand is f32.
inline bool all_f32(std::span<const TensorArg> args) {
    return std::all_of(args.begin(), args.end(), [](const TensorArg& arg) {
        return !arg.present() || arg.dtype == DType::kFloat32;
    });
}

// Blocks of consecutive columns or channels, so that a unit's working set is a few cache lines a
// row.
struct Blocks {
    int64_t extent = 0;
    int64_t block = 1;

    int64_t count() const { return (extent + block - 1) / block; }
    int64_t begin(int64_t i) const { return i * block; }
    int64_t end(int64_t i) const { return std::min(extent, (i + 1) * block); }
};

// Work along an axis. A unit is a row where the inner extent is 1, else a block of columns of one
// outer index.
struct SplitParams {
    explicit SplitParams(const AxisSplit& axes) : split(axes), columns{axes.inner, 64} {}
    bool has_rows() const { return split.inner == 1; }
    int64_t unit_count() const { return split.outer * (has_rows() ? 1 : columns.count()); }

    AxisSplit split;
    Blocks columns;
};

}  // namespace leat::cpu
