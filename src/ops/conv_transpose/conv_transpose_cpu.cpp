// ConvTranspose of f32. A tile gives some rows of some channels of one image. First a product makes
// what each tap adds (K = channels of x in a group), then every row of y gathers its taps in a
// fixed order. With few channels the rows of x are added at once, each by its weight.
//
// A row is summed by phases: elements w with the same w mod stride read x side by side.
#include <algorithm>
#include <array>
#include <cstring>
#include <span>
#include <vector>

#include "backends/cpu/gemm.h"
#include "backends/cpu/unit_kernel.h"
#include "base/round_up.h"
#include "memory/domains/weight_store.h"
#include "ops/conv_transpose/conv_transpose.h"

#ifndef LEAT_CONV_TRANSPOSE_JOB
#define LEAT_CONV_TRANSPOSE_JOB
namespace leat::cpu {

// A range along each spatial axis.
struct SpatialBox {
    Extents begin{};
    Extents end{1, 1, 1};
    int64_t extent(size_t axis) const { return end[axis] - begin[axis]; }
};

// Where tap t of an element of x lies along the innermost axis: x[i] adds to phase `phase` at
// i + offset.
struct PhaseTap {
    int64_t phase = 0;
    int64_t offset = 0;
};

// Rows of y in a tile, and where they read.
struct GatherJob {
    const WindowGeometry* window = nullptr;  // of the convolution: its input is y
    std::span<const PhaseTap> taps;          // of the innermost axis
    SpatialBox y_box;
    SpatialBox x_box;
    const float* source = nullptr;  // element `x_box.begin` of the first channel
    Extents source_stride{};        // of positions
    int64_t tap_stride = 0;         // from what a tap adds to what the next one does
    int64_t source_count = 1;       // rows that a tap reads: channels of x
    int64_t source_channel_stride = 0;
    const float* weights = nullptr;  // of the first source channel, by tap; null: they are in
    int64_t weight_stride = 0;       // from a source channel to the next
    float bias = 0;
    float* y = nullptr;       // the plane
    float* phases = nullptr;  // scratch
};

}  // namespace leat::cpu
#endif

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "ops/conv_transpose/conv_transpose_cpu.cpp"
#include "backends/cpu/simd.h"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
#include "hwy/highway.h"
#include "ops/rows-inl.h"

HWY_BEFORE_NAMESPACE();
namespace leat {
namespace HWY_NAMESPACE {
namespace {

using cpu::GatherJob;
using cpu::PhaseTap;

// The phases of a row: element w of y is `at(w)`.
struct PhasedRow {
    float* data;
    int64_t stride;
    int64_t first;   // index of the first element of each phase
    int64_t length;  // of a phase
};

HWY_INLINE void add_row_of_tap(const float* x, float* sums, int64_t n) {
    for_each_vector(n, [&](int64_t i, auto access) HWY_ATTR {
        access.store(hn::Add(access.load(sums + i), access.load(x + i)), sums + i);
    });
}
HWY_INLINE void add_weighted_row(const float* x, float weight, float* sums, int64_t n) {
    const FloatVec factor = hn::Set(kFloats, weight);
    for_each_vector(n, [&](int64_t i, auto access) HWY_ATTR {
        access.store(hn::MulAdd(access.load(x + i), factor, access.load(sums + i)), sums + i);
    });
}

// All taps along the innermost axis of one row of the source.
HWY_INLINE void add_taps_of_row(const GatherJob& job,
                                const float* source,
                                const float* weights,
                                const PhasedRow& row) {
    for (size_t t = 0; t < job.taps.size(); ++t) {
        const PhaseTap tap = job.taps[t];
        const int64_t shift = tap.offset - row.first;
        const int64_t begin = std::max(job.x_box.begin[2], -shift);
        const int64_t end = std::min(job.x_box.end[2], row.length - shift);
        if (begin >= end) {
            continue;
        }
        const float* x = source + int64_t(t) * job.tap_stride + (begin - job.x_box.begin[2]);
        float* sums = row.data + tap.phase * row.length + begin + shift;
        if (weights == nullptr) {
            add_row_of_tap(x, sums, end - begin);
        } else {
            add_weighted_row(x, weights[t], sums, end - begin);
        }
    }
}

// The index along an axis of x that tap t adds to y[o]; false: there is none in the tile.
HWY_INLINE bool index_of_tap(const GatherJob& job, size_t axis, int64_t o, int64_t t, int64_t& i) {
    const WindowGeometry& g = *job.window;
    const int64_t reach = o + g.pad_begin[axis] - t * g.dilation[axis];
    i = reach / g.stride[axis];
    return reach >= 0 && i * g.stride[axis] == reach && i >= job.x_box.begin[axis] &&
           i < job.x_box.end[axis];
}

HWY_INLINE void store_row(const PhasedRow& row, int64_t begin, int64_t end, float* HWY_RESTRICT y) {
    if (row.stride == 1) {
        std::memcpy(y + begin, row.data + (begin - row.first), size_t(end - begin) * sizeof(float));
        return;
    }
    if (row.stride == 2 && begin % 2 == 0) {
        const float* even = row.data;
        const float* odd = row.data + row.length;
        const int64_t pairs = (end - begin) / 2;
        for (int64_t i = 0; i < pairs; ++i) {
            y[begin + 2 * i] = even[i];
            y[begin + 2 * i + 1] = odd[i];
        }
        if ((end - begin) % 2 != 0) {
            y[end - 1] = even[pairs];
        }
        return;
    }
    for (int64_t phase = 0; phase < row.stride; ++phase) {
        const float* from = row.data + phase * row.length;
        int64_t w = row.first * row.stride + phase;
        if (w < begin) {
            w += row.stride;
            ++from;
        }
        for (; w < end; w += row.stride) {
            y[w] = *from++;
        }
    }
}

// Adds all taps to the row (d, h) of y.
HWY_INLINE void gather_transposed_row(const GatherJob& job,
                                      int64_t d,
                                      int64_t h,
                                      const PhasedRow& row) {
    const WindowGeometry& g = *job.window;
    for (int64_t c = 0; c < job.source_count; ++c) {
        const float* channel = job.source + c * job.source_channel_stride;
        for (int64_t tap = 0; tap < g.kernel[0] * g.kernel[1]; ++tap) {
            int64_t x_d = 0;
            int64_t x_h = 0;
            if (!index_of_tap(job, 0, d, tap / g.kernel[1], x_d) ||
                !index_of_tap(job, 1, h, tap % g.kernel[1], x_h)) {
                continue;
            }
            const float* source = channel + tap * g.kernel[2] * job.tap_stride +
                                  (x_d - job.x_box.begin[0]) * job.source_stride[0] +
                                  (x_h - job.x_box.begin[1]) * job.source_stride[1];
            const float* weights = job.weights == nullptr
                                       ? nullptr
                                       : job.weights + c * job.weight_stride + tap * g.kernel[2];
            add_taps_of_row(job, source, weights, row);
        }
    }
}

void gather_transposed_rows(const GatherJob& job) {
    const WindowGeometry& g = *job.window;
    PhasedRow row{job.phases, g.stride[2], job.y_box.begin[2] / g.stride[2], 0};
    row.length = divide_up(job.y_box.end[2], row.stride) - row.first;
    for (int64_t d = job.y_box.begin[0]; d < job.y_box.end[0]; ++d) {
        for (int64_t h = job.y_box.begin[1]; h < job.y_box.end[1]; ++h) {
            std::fill_n(row.data, row.stride * row.length, job.bias);
            gather_transposed_row(job, d, h, row);
            store_row(row, job.y_box.begin[2], job.y_box.end[2],
                      job.y + (d * g.input[1] + h) * g.input[2]);
        }
    }
}

}  // namespace

using GatherFunction = void (*)(const GatherJob&);
GatherFunction select_gather_rows() {
    return gather_transposed_rows;
}

}  // namespace HWY_NAMESPACE
}  // namespace leat
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace leat {

HWY_EXPORT(select_gather_rows);

namespace cpu {
namespace {

// Below it, a product does less than the rows of what it makes cost.
constexpr int64_t kMinProductDepth = 6;
// Rows of phases stay in the first cache.
constexpr int64_t kMostStride = 64;
// What a product makes in a tile: in any second cache, with the weights.
constexpr int64_t kMostProductFloats = int64_t{96} * 1024;
constexpr int64_t kProductRows = 128;
// Rows added by weight, measured with AVX2 on data in L2.
constexpr double kNsPerWeightedTap = 0.12;
constexpr double kDirectTileNs = 60e3;

// How y is cut into tiles: by image, group, channels of a group, and extents of one axis.
struct TransposedTiles {
    int64_t channels = 1;  // of a tile, at most
    int64_t channel_blocks = 1;
    size_t axis = 0;
    int64_t extent = 1;  // of a tile, at most
    int64_t blocks = 1;

    void cut_channels(int64_t of_group, int64_t wanted) {
        channels = std::clamp<int64_t>(wanted, 1, of_group);
        channel_blocks = divide_up(of_group, channels);
    }
    void cut_axis(int64_t of_axis, int64_t wanted) {
        extent = std::clamp<int64_t>(wanted, 1, of_axis);
        blocks = divide_up(of_axis, extent);
    }
};

// The indices of x along an axis that add to y[begin, end).
void set_x_range(const WindowGeometry& g, size_t axis, SpatialBox& x, const SpatialBox& y) {
    const int64_t span = (g.kernel[axis] - 1) * g.dilation[axis];
    const int64_t pad = g.pad_begin[axis];
    const int64_t first = y.begin[axis] + pad - span;
    x.begin[axis] = std::min(first <= 0 ? 0 : divide_up(first, g.stride[axis]), g.output[axis]);
    x.end[axis] =
        std::clamp((y.end[axis] - 1 + pad) / g.stride[axis] + 1, x.begin[axis], g.output[axis]);
}

class ConvTransposeKernel final : public CpuKernel {
  public:
    // packed: [groups][channels of y in a group * taps][channels of x in a group]; null: no
    // product.
    ConvTransposeKernel(const ConvTransposeGeometry& geometry,
                        std::shared_ptr<const std::byte> packed);
    Status run(const KernelArgs& args, int64_t tile_begin, int64_t tile_end) const override;

  private:
    struct Tile {
        int64_t image;
        int64_t group;
        int64_t first_channel;  // of the group
        int64_t channels;
        SpatialBox y;
        SpatialBox x;
    };
    void cut_for_products();
    void cut_for_rows();
    Tile tile_of(int64_t number) const;
    // Columns of the product: positions of x.
    static int64_t positions_of(const SpatialBox& x) {
        return x.extent(0) * x.extent(1) * x.extent(2);
    }
    int64_t most_positions() const;
    Status multiply(const KernelArgs& args, const Tile& tile, float* made) const;
    Status run_tile(const KernelArgs& args, const Tile& tile) const;

    ConvTransposeGeometry geometry_;
    std::vector<PhaseTap> taps_;
    TransposedTiles tiles_;
    std::shared_ptr<const std::byte> packed_;
    const GemmTable& table_ = gemm_table();
    std::shared_ptr<const PanelGemm> gemm_;
    std::array<int64_t, 4> scratch_floats_{};  // phases, gemm, b, made
};

ConvTransposeKernel::ConvTransposeKernel(const ConvTransposeGeometry& geometry,
                                         std::shared_ptr<const std::byte> packed)
    : geometry_(geometry), packed_(std::move(packed)) {
    const WindowGeometry& g = geometry_.window;
    for (int64_t t = 0; t < g.kernel[2]; ++t) {
        const int64_t shift = t * g.dilation[2] - g.pad_begin[2];
        const int64_t phase = (shift % g.stride[2] + g.stride[2]) % g.stride[2];
        taps_.push_back({phase, (shift - phase) / g.stride[2]});
    }
    // The outermost axis that has several elements, so that a tile's part of x is one block.
    while (tiles_.axis < 2 && g.input[tiles_.axis] == 1 && g.output[tiles_.axis] == 1) {
        ++tiles_.axis;
    }
    const double products = double(geometry_.batch) * double(geometry_.in_channels) *
                            double(geometry_.out_channels_per_group()) * double(g.kernel_count()) *
                            double(g.output_count());
    if (packed_ != nullptr) {
        cut_for_products();
        kernel_name = "conv_transpose_f32_product";
        cost_ns = gemm_cost_ns(2 * products) +
                  kNsPerWeightedTap * products / double(geometry_.in_channels_per_group());
    } else {
        cut_for_rows();
        kernel_name = "conv_transpose_f32_rows";
        cost_ns = kNsPerWeightedTap * products;
    }
    scratch_floats_[0] = round_up(g.stride[2] * (g.input[2] / g.stride[2] + 2), int64_t{16});
    if (packed_ != nullptr) {
        gemm_ = std::make_shared<const PanelGemm>(
            PanelGemm::plain_segments(geometry_.in_channels_per_group()), Epilogue(), 1);
        const int64_t rows = tiles_.channels * g.kernel_count();
        const int64_t panels = divide_up(most_positions(), int64_t{table_.nr});
        scratch_floats_[1] = round_up(gemm_->scratch_floats(rows, panels), int64_t{16});
        scratch_floats_[2] = panels * table_.nr * gemm_->k();
        scratch_floats_[3] = round_up(rows * most_positions(), int64_t{16});
        scratch_bytes = rows * int64_t{sizeof(GemmRow)};
    }
    for (const int64_t floats : scratch_floats_) {
        scratch_bytes += floats * int64_t{sizeof(float)};
    }
    tile_count = geometry_.batch * geometry_.groups * tiles_.channel_blocks * tiles_.blocks;
    allows_in_place = false;
}

// Rows of a product are channels and taps, so many that columns are read seldom.
void ConvTransposeKernel::cut_for_products() {
    const WindowGeometry& g = geometry_.window;
    const size_t axis = tiles_.axis;
    const int64_t taps = g.kernel_count();
    tiles_.cut_channels(geometry_.out_channels_per_group(), divide_up(kProductRows, taps));
    const int64_t inner = std::max<int64_t>(g.output_count() / g.output[axis], 1);
    // What tiles side by side both compute is a small part.
    const int64_t shared = (g.kernel[axis] - 1) * g.dilation[axis] / g.stride[axis];
    const int64_t fit = kMostProductFloats / (tiles_.channels * taps * inner);
    const int64_t wanted = std::max<int64_t>(fit - shared, 4 * shared + 1);
    tiles_.cut_axis(g.input[axis], std::max<int64_t>(wanted, 1) * g.stride[axis]);
    const int64_t floats = inner * (tiles_.extent / g.stride[axis] + shared + 1) * taps;
    tiles_.cut_channels(geometry_.out_channels_per_group(),
                        std::min(tiles_.channels, 2 * kMostProductFloats / floats));
}

void ConvTransposeKernel::cut_for_rows() {
    const WindowGeometry& g = geometry_.window;
    const double of_channel = kNsPerWeightedTap * double(geometry_.in_channels_per_group()) *
                              double(g.kernel_count()) * double(g.output_count());
    tiles_.cut_channels(geometry_.out_channels_per_group(),
                        std::max<int64_t>(int64_t(kDirectTileNs / (of_channel + 1)), 1));
    const auto parts = int64_t(std::min(of_channel / kDirectTileNs, 1e6));
    tiles_.cut_axis(g.input[tiles_.axis],
                    divide_up(g.input[tiles_.axis], std::max<int64_t>(parts, 1)));
}

int64_t ConvTransposeKernel::most_positions() const {
    int64_t most = 0;
    for (int64_t block = 0; block < tiles_.blocks; ++block) {
        most = std::max(most, positions_of(tile_of(block).x));
    }
    return most;
}

ConvTransposeKernel::Tile ConvTransposeKernel::tile_of(int64_t number) const {
    const WindowGeometry& g = geometry_.window;
    const int64_t block = number % tiles_.blocks;
    number /= tiles_.blocks;
    Tile tile{};
    tile.first_channel = number % tiles_.channel_blocks * tiles_.channels;
    tile.channels =
        std::min(tiles_.channels, geometry_.out_channels_per_group() - tile.first_channel);
    number /= tiles_.channel_blocks;
    tile.group = number % geometry_.groups;
    tile.image = number / geometry_.groups;
    tile.y.end = g.input;
    tile.x.end = g.output;
    const size_t axis = tiles_.axis;
    tile.y.begin[axis] = block * tiles_.extent;
    tile.y.end[axis] = std::min(g.input[axis], tile.y.begin[axis] + tiles_.extent);
    set_x_range(g, axis, tile.x, tile.y);
    return tile;
}

Status ConvTransposeKernel::run(const KernelArgs& args,
                                int64_t tile_begin,
                                int64_t tile_end) const {
    for (int64_t number = tile_begin; number < tile_end; ++number) {
        LEAT_RETURN_IF_ERROR(run_tile(args, tile_of(number)));
    }
    return {};
}

// made [channels of the tile * taps][positions].
Status ConvTransposeKernel::multiply(const KernelArgs& args, const Tile& tile, float* made) const {
    const WindowGeometry& g = geometry_.window;
    const int64_t taps = g.kernel_count();
    const int64_t depth = gemm_->k();
    const int64_t plane = g.output_count();
    const int64_t columns = positions_of(tile.x);
    const auto row_count = size_t(tile.channels * taps);
    const std::span<GemmRow> rows(reinterpret_cast<GemmRow*>(made + scratch_floats_[3]), row_count);
    for (size_t i = 0; i < rows.size(); ++i) {
        const auto row = int64_t(i);
        rows[i] = {row * depth, ~0ULL, row * columns, int32_t(i), 0};
    }
    cut_tiles(rows, table_.max_rows);
    const int64_t first_row =
        (tile.group * geometry_.out_channels_per_group() + tile.first_channel) * taps;
    const int64_t first_position =
        (tile.x.begin[0] * g.output[1] + tile.x.begin[1]) * g.output[2] + tile.x.begin[2];
    const float* x = args.inputs[0].as<const float>() + first_position +
                     (tile.image * geometry_.in_channels + tile.group * depth) * plane;
    float* panels = made - scratch_floats_[2];
    table_.pack_rows(x, plane, depth, columns, panels);

    PanelGemm::Block block;
    block.args = &args;
    block.a = reinterpret_cast<const float*>(packed_.get()) + first_row * depth;
    block.rows = rows;
    block.b = panels;
    block.b_row_stride = table_.nr;
    block.b_panel_stride = depth * table_.nr;
    block.columns = columns;
    block.dst = made;
    block.scratch = panels - scratch_floats_[1];
    return gemm_->run(block);
}

Status ConvTransposeKernel::run_tile(const KernelArgs& args, const Tile& tile) const {
    const WindowGeometry& g = geometry_.window;
    const int64_t taps = g.kernel_count();
    const int64_t out_group = geometry_.out_channels_per_group();
    const int64_t first = tile.group * out_group + tile.first_channel;
    auto* scratch = reinterpret_cast<float*>(args.scratch);
    float* made = scratch + scratch_floats_[0] + scratch_floats_[1] + scratch_floats_[2];
    const int64_t positions = positions_of(tile.x);
    GatherJob job;
    job.window = &g;
    job.taps = taps_;
    job.y_box = tile.y;
    job.x_box = tile.x;
    job.phases = scratch;
    if (packed_ != nullptr) {
        LEAT_RETURN_IF_ERROR(positions > 0 ? multiply(args, tile, made) : Status());
        job.tap_stride = positions;
        job.source_stride = {tile.x.extent(1) * tile.x.extent(2), tile.x.extent(2), 1};
    } else {
        job.source_stride = {g.output[1] * g.output[2], g.output[2], 1};
        job.source_count = geometry_.in_channels_per_group();
        job.source_channel_stride = g.output_count();
        job.weight_stride = out_group * taps;
    }
    const TensorArg* bias = find_arg(args.inputs, 2);
    const int64_t first_input =
        tile.image * geometry_.in_channels + tile.group * geometry_.in_channels_per_group();
    for (int64_t o = 0; o < tile.channels; ++o) {
        job.bias = bias == nullptr ? 0 : bias->as<const float>()[first + o];
        job.y = args.outputs[0].as<float>() +
                (tile.image * geometry_.out_channels + first + o) * g.input_count();
        if (packed_ != nullptr) {
            job.source = made + o * taps * positions;
        } else {
            job.source = args.inputs[0].as<const float>() + first_input * g.output_count() +
                         tile.x.begin[0] * job.source_stride[0] +
                         tile.x.begin[1] * job.source_stride[1] + tile.x.begin[2];
            job.weights = args.inputs[1].as<const float>() +
                          (tile.group * geometry_.in_channels_per_group() * out_group +
                           tile.first_channel + o) *
                              taps;
        }
        HWY_DYNAMIC_DISPATCH(select_gather_rows)()(job);
    }
    return {};
}

constexpr auto kTransposedFloatBytes = int64_t{sizeof(float)};

// to [rows][depth] = from [depth][rows], of any address.
void transpose_weights(const std::byte* from, int64_t depth, int64_t rows, float* to) {
    constexpr int64_t kBlockRows = 32;  // lines of cache that are written again
    for (int64_t begin = 0; begin < rows; begin += kBlockRows) {
        const int64_t end = std::min(rows, begin + kBlockRows);
        for (int64_t k = 0; k < depth; ++k) {
            for (int64_t row = begin; row < end; ++row) {
                std::memcpy(to + row * depth + k, from + (k * rows + row) * kTransposedFloatBytes,
                            size_t(kTransposedFloatBytes));
            }
        }
    }
}

// Weights [C, M/group, taps] as [group][M/group * taps][C/group].
Result<std::shared_ptr<const std::byte>> pack_transposed(PrepareContext& context,
                                                         const ConvTransposeGeometry& geometry) {
    const int64_t depth = geometry.in_channels_per_group();
    const int64_t rows = geometry.out_channels_per_group() * geometry.window.kernel_count();
    const int64_t groups = geometry.groups;
    const auto pack = [&](const Tensor& tensor, std::byte* packed) {
        for (int64_t group = 0; group < groups; ++group) {
            const int64_t first = group * rows * depth;
            transpose_weights(tensor.bytes() + first * kTransposedFloatBytes, depth, rows,
                              reinterpret_cast<float*>(packed) + first);
        }
    };
    const std::string key =
        fmt::format("conv_transpose_rows_f32 groups={} rows={} k={}", groups, rows, depth);
    LEAT_ASSIGN_OR_RETURN(auto packed,
                          context.weights.get_or_pack(*context.constants[1], key,
                                                      groups * rows * depth * kTransposedFloatBytes,
                                                      pack, WeightReads::kWhole));
    context.packed_inputs |= 2;
    return packed;
}

Result<std::unique_ptr<CpuKernel>> make_conv_transpose(PrepareContext& context) {
    const TensorArg& x = context.inputs[0];
    const TensorArg& w = context.inputs[1];
    const TensorArg& y = context.outputs[0];
    const bool is_covered = all_f32(context.inputs) && x.is_row_major() && w.is_row_major() &&
                            y.is_row_major() && x.shape.element_count() > 0 &&
                            y.shape.element_count() > 0;
    if (!is_covered) {
        return std::unique_ptr<CpuKernel>();
    }
    LEAT_ASSIGN_OR_RETURN(const ConvTransposeGeometry geometry,
                          ConvTransposeGeometry::make(context.node, x.shape, w.shape, y.shape));
    if (geometry.window.stride[2] > kMostStride) {
        return std::unique_ptr<CpuKernel>();
    }
    std::shared_ptr<const std::byte> packed;
    const int64_t rows = geometry.out_channels_per_group() * geometry.window.kernel_count();
    if (context.constants[1] != nullptr && rows < INT32_MAX &&
        geometry.in_channels_per_group() >= kMinProductDepth) {
        LEAT_ASSIGN_OR_RETURN(packed, pack_transposed(context, geometry));
    }
    return std::unique_ptr<CpuKernel>(
        std::make_unique<ConvTransposeKernel>(geometry, std::move(packed)));
}

constexpr CpuKernelEntry kConvTransposeCpuKernels[] = {{"ConvTranspose", make_conv_transpose}};

}  // namespace
}  // namespace cpu

std::span<const cpu::CpuKernelEntry> conv_transpose_cpu_kernels() {
    return cpu::kConvTransposeCpuKernels;
}

}  // namespace leat
#endif  // HWY_ONCE
