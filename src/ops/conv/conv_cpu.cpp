// Conv of f32: depthwise ones on row kernels, all others as products on the microkernel.
//
// A result's row of A is its window, K = taps x channels of a group. With channels innermost and
// enough of them, windows are read in place, a segment a tap; padded taps read zeros, and register
// tiles hold windows with the same padding, so that most padded taps are skipped. With few channels
// each tile copies the lines of the input that it reads, with their padding, and a window is a
// segment of each; in other layouts it copies every window.
#include <algorithm>
#include <array>
#include <vector>

#include "backends/cpu/conv_rows.h"
#include "backends/cpu/cpu_kernel.h"
#include "backends/cpu/depthwise.h"
#include "backends/cpu/former_kernel.h"
#include "backends/cpu/gemm.h"
#include "backends/cpu/packing.h"
#include "base/round_up.h"
#include "memory/domains/weight_store.h"
#include "ops/conv/conv.h"
#include "ops/type_checks.h"

namespace leat {

namespace cpu {
namespace {

// Shorter segments cost more than copying a window does.
constexpr int64_t kMinSegment = 16;
constexpr int64_t kMaxTaps = 64;  // bits of GemmRow::taps

// What a kernel has whatever the batch is.
struct ConvImage {
    ConvGeometry geometry;  // but for the batch
    std::shared_ptr<const ImageRows> rows;
    std::shared_ptr<const std::byte> packed;
};

class ConvKernel final : public CpuKernel {
  public:
    ConvKernel(ConvImage image,
               std::shared_ptr<const PanelGemm> gemm,
               const TensorArg& x,
               const TensorArg& y);
    Status run(const KernelArgs& args, int64_t tile_begin, int64_t tile_end) const override;

    const ConvImage& image() const { return image_; }
    const std::shared_ptr<const PanelGemm>& gemm() const { return gemm_; }

  private:
    Status run_tile(const KernelArgs& args, int64_t tile) const;

    const GemmTable& table_ = gemm_table();
    ConvImage image_;
    int64_t group_columns_;  // output channels
    ConvRows rows_;
    std::shared_ptr<const PanelGemm> gemm_;
    GemmBlocking blocking_;
    int64_t gemm_scratch_bytes_ = 0;
    int64_t copied_bytes_ = 0;
};

int64_t aligned_bytes(int64_t bytes) {
    return round_up(bytes, 64);
}

ConvKernel::ConvKernel(ConvImage image,
                       std::shared_ptr<const PanelGemm> gemm,
                       const TensorArg& x,
                       const TensorArg& y)
    : image_(std::move(image)),
      group_columns_(image_.geometry.out_channels_per_group()),
      rows_(image_.rows, x, y),
      gemm_(std::move(gemm)) {
    const ConvGeometry& geometry = image_.geometry;
    const bool copies = image_.rows->copies();
    const auto source = copies ? GemmBlocking::Rows::kCopied : GemmBlocking::Rows::kInPlace;
    blocking_ = GemmBlocking::choose(geometry.groups, rows_.count(), group_columns_, gemm_->k(),
                                     table_, source);
    rows_.cut_blocks(blocking_, table_.max_rows);
    gemm_scratch_bytes_ = aligned_bytes(gemm_->scratch_floats(blocking_.rows, blocking_.panels) *
                                        int64_t{sizeof(float)});
    copied_bytes_ =
        copies ? aligned_bytes(image_.rows->copied_floats(blocking_.rows) * int64_t{sizeof(float)})
               : 0;
    kernel_name = table_.name;
    tile_count = geometry.groups * blocking_.row_blocks * blocking_.panel_blocks;
    scratch_bytes = gemm_scratch_bytes_ + copied_bytes_ + blocking_.rows * int64_t{sizeof(GemmRow)};
    cost_ns = gemm_cost_ns(2.0 * double(rows_.count()) * double(geometry.out_channels) *
                           double(gemm_->k()));
}

Status ConvKernel::run(const KernelArgs& args, int64_t tile_begin, int64_t tile_end) const {
    for (int64_t tile = tile_begin; tile < tile_end; ++tile) {
        LEAT_RETURN_IF_ERROR(run_tile(args, tile));
    }
    return {};
}

Status ConvKernel::run_tile(const KernelArgs& args, int64_t tile) const {
    const int64_t row_block = tile % blocking_.row_blocks;
    const int64_t panel_block = tile / blocking_.row_blocks % blocking_.panel_blocks;
    const int64_t group = tile / (blocking_.row_blocks * blocking_.panel_blocks);
    std::byte* scratch = args.scratch + gemm_scratch_bytes_;
    auto* row_scratch = reinterpret_cast<GemmRow*>(scratch + copied_bytes_);

    PanelGemm::Block block;
    block.args = &args;
    block.scratch = reinterpret_cast<float*>(args.scratch);
    block.dst = args.outputs[0].as<float>();
    const float* x = args.inputs[0].as<float>() + group * image_.rows->group_stride();
    if (image_.rows->copies()) {
        auto* copied = reinterpret_cast<float*>(scratch);
        block.rows = rows_.copy(row_block, x, copied, row_scratch);
        block.a = copied;
    } else {
        block.rows = rows_.block(row_block, row_scratch);
        block.a = x;
    }
    const int64_t nr = table_.nr;
    const int64_t first_panel = panel_block * blocking_.panels;
    const int64_t first_column = first_panel * nr;
    block.b = reinterpret_cast<const float*>(image_.packed.get()) +
              group * packed_floats(gemm_->k(), group_columns_, nr) + first_panel * gemm_->k() * nr;
    block.b_row_stride = nr;
    block.b_panel_stride = gemm_->k() * nr;
    if (row_block + 1 == blocking_.row_blocks && panel_block + 1 < blocking_.panel_blocks) {
        block.b_next = block.b + blocking_.panels * block.b_panel_stride;
    }
    block.column = group * group_columns_ + first_column;
    block.columns = std::min(blocking_.panels * nr, group_columns_ - first_column);
    return gemm_->run(block);
}

// Weights [O, C/group, taps] as panels a group, K in the order (tap, channel).
Result<std::shared_ptr<const std::byte>> pack_weights(PrepareContext& context,
                                                      const ConvGeometry& geometry) {
    const int64_t nr = gemm_table().nr;
    const int64_t taps = geometry.window.kernel_count();
    const int64_t channels = geometry.in_channels_per_group();
    const int64_t columns = geometry.out_channels_per_group();
    const int64_t k = taps * channels;
    const int64_t size = packed_floats(k, columns, nr);
    const std::span<const float> scale = weight_scale(context.node);
    const auto pack = [&](const Tensor& tensor, std::byte* packed) {
        std::vector<int64_t> k_offsets;
        k_offsets.reserve(size_t(k));
        for (int64_t tap = 0; tap < taps; ++tap) {
            for (int64_t channel = 0; channel < channels; ++channel) {
                k_offsets.push_back(channel * taps + tap);
            }
        }
        for (int64_t group = 0; group < geometry.groups; ++group) {
            const std::byte* data = tensor.bytes() + group * columns * k * int64_t{sizeof(float)};
            const std::span<const float> factors =
                scale.empty() ? scale : scale.subspan(size_t(group * columns), size_t(columns));
            pack_panels({data, k_offsets, columns, k, factors}, nr, 1,
                        reinterpret_cast<float*>(packed) + group * size);
        }
    };
    const std::string key =
        fmt::format("conv_panels_f32 nr={} taps={} c={} o={} group={}{}", nr, taps, channels,
                    columns, geometry.groups, column_factors_key(scale));
    LEAT_ASSIGN_OR_RETURN(
        auto packed, context.weights.get_or_pack(*context.constants[1], key,
                                                 geometry.groups * size * int64_t{sizeof(float)},
                                                 pack, WeightReads::kInTileOrder));
    context.packed_inputs |= 2;
    return packed;
}

ImageRows::Source source_of(const ConvGeometry& geometry, const TensorArg& x) {
    const int64_t taps = geometry.window.kernel_count();
    const bool in_place = x.strides[1] == 1 && taps <= kMaxTaps &&
                          (taps == 1 || geometry.in_channels_per_group() >= kMinSegment);
    if (in_place) {
        return ImageRows::Source::kInPlace;
    }
    return ImageRows::can_copy_lines(geometry, x) ? ImageRows::Source::kLines
                                                  : ImageRows::Source::kWindows;
}

Result<Epilogue> make_epilogue(PrepareContext& context) {
    const bool has_bias = is_own_input(context.node, 2) && find_arg(context.inputs, 2) != nullptr;
    return Epilogue::make(context, {has_bias ? 2 : -1, 1, true}, 1, 1);
}

Result<std::shared_ptr<const PanelGemm>> make_gemm(PrepareContext& context, const ImageRows& rows) {
    LEAT_ASSIGN_OR_RETURN(Epilogue epilogue, make_epilogue(context));
    return std::make_shared<const PanelGemm>(rows.segments(), std::move(epilogue),
                                             context.outputs[0].strides[1]);
}

// The same node with another batch: windows and packed weights stay.
Result<std::unique_ptr<CpuKernel>> remake_conv(PrepareContext& context, const ConvKernel& former) {
    const ConvImage& image = former.image();
    std::shared_ptr<const PanelGemm> gemm = former.gemm();
    if (!keeps_epilogue(context, 1, context.node.own_inputs())) {
        LEAT_ASSIGN_OR_RETURN(gemm, make_gemm(context, *image.rows));
    }
    context.packed_inputs |= 2;
    return std::unique_ptr<CpuKernel>(std::make_unique<ConvKernel>(
        image, std::move(gemm), context.inputs[0], context.outputs[0]));
}

Result<std::unique_ptr<CpuKernel>> make_conv(PrepareContext& context) {
    if (only_batch_differs(context)) {
        if (const auto* former = former_kernel<ConvKernel>(context)) {
            return remake_conv(context, *former);
        }
        if (auto kernel = remake_depthwise(context)) {
            return kernel;
        }
    }
    const bool f32 =
        std::all_of(context.inputs.begin(), context.inputs.end(),
                    [](const TensorArg& t) { return !t.present() || t.dtype == DType::kFloat32; });
    if (!f32 || context.constants[1] == nullptr) {
        return std::unique_ptr<CpuKernel>();
    }
    const TensorArg& x = context.inputs[0];
    const TensorArg& y = context.outputs[0];
    LEAT_ASSIGN_OR_RETURN(
        const ConvGeometry geometry,
        ConvGeometry::make(context.node, x.shape, context.inputs[1].shape, y.shape));
    if (covers_depthwise(geometry, x, y)) {
        LEAT_ASSIGN_OR_RETURN(Epilogue epilogue, make_epilogue(context));
        return make_depthwise(context, geometry, std::move(epilogue));
    }
    auto rows = std::make_shared<const ImageRows>(geometry, x, y, source_of(geometry, x));
    LEAT_ASSIGN_OR_RETURN(auto gemm, make_gemm(context, *rows));
    std::shared_ptr<const std::byte> packed;
    if (const auto* former = former_kernel<ConvKernel>(context)) {
        packed = former->image().packed;
        context.packed_inputs |= 2;
    } else {
        LEAT_ASSIGN_OR_RETURN(packed, pack_weights(context, geometry));
    }
    return std::unique_ptr<CpuKernel>(std::make_unique<ConvKernel>(
        ConvImage{geometry, std::move(rows), std::move(packed)}, std::move(gemm), x, y));
}

constexpr std::array<CpuKernelEntry, 1> kConvCpuKernels = {{{"Conv", &make_conv}}};

}  // namespace
}  // namespace cpu

std::span<const cpu::CpuKernelEntry> conv_cpu_kernels() {
    return cpu::kConvCpuKernels;
}

}  // namespace leat
