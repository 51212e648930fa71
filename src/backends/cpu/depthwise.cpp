#include "backends/cpu/depthwise.h"

#include <algorithm>
#include <array>

#include "backends/cpu/depthwise_micro.h"
#include "backends/cpu/former_kernel.h"
#include "backends/cpu/gemm.h"
#include "backends/cpu/packing.h"
#include "memory/domains/weight_store.h"

namespace leat::cpu {

namespace {

// Channels are padded so that any vector may be loaded.
constexpr int64_t kChannelPadding = 16;
// A tile of the scheduler: about 40 us at 25 GF/s.
constexpr double kTaskFlops = 1e6;
constexpr double kAssumedFlopsPerNs = 25;
// Columns that an epilogue takes at once.
constexpr int64_t kEpilogueColumns = Epilogue::kBiasPadding;
constexpr int64_t kEpiloguePositions = 16;  // at once, of up to kEpilogueColumns channels

class DepthwiseConv final : public CpuKernel {
  public:
    DepthwiseConv(const ConvGeometry& geometry,
                  const TensorArg& x,
                  const TensorArg& y,
                  std::shared_ptr<const Epilogue> epilogue,
                  std::shared_ptr<const std::byte> packed);

    const ConvGeometry& geometry() const { return geometry_; }
    const std::shared_ptr<const Epilogue>& epilogue() const { return epilogue_; }
    const std::shared_ptr<const std::byte>& packed() const { return packed_; }

    Status run(const KernelArgs& args, int64_t tile_begin, int64_t tile_end) const override;

  private:
    Status run_row(const KernelArgs& args, int64_t row) const;
    Status finish_row(const KernelArgs& args, int64_t row, float* results) const;
    Status finish_positions(const KernelArgs& args,
                            std::span<const GemmRow> positions,
                            float* results) const;

    ConvGeometry geometry_;
    int64_t channels_;
    int64_t padded_channels_;
    int64_t row_count_;  // output rows: n, d, h
    int64_t rows_per_tile_ = 1;
    Strides x_strides_{};  // n, d, h, w
    RowView y_;
    int64_t y_stride_ = 0;
    std::shared_ptr<const Epilogue> epilogue_;
    bool in_registers_;  // the whole epilogue
    std::shared_ptr<const std::byte> packed_;
    DepthwiseKernel kernel_;
    int64_t kernel_rows_;  // d times h
};

int64_t pad_channels(int64_t channels) {
    return (channels + kChannelPadding - 1) / kChannelPadding * kChannelPadding;
}

DepthwiseConv::DepthwiseConv(const ConvGeometry& geometry,
                             const TensorArg& x,
                             const TensorArg& y,
                             std::shared_ptr<const Epilogue> epilogue,
                             std::shared_ptr<const std::byte> packed)
    : geometry_(geometry),
      channels_(geometry.in_channels),
      padded_channels_(pad_channels(geometry.in_channels)),
      row_count_(geometry.batch * geometry_.window.output[0] * geometry_.window.output[1]),
      y_(y, y.shape, 1),
      y_stride_(y.strides[size_t(y.shape.rank() - 1)]),
      epilogue_(std::move(epilogue)),
      in_registers_(!epilogue_->has_residual() && !epilogue_->has_more()),
      packed_(std::move(packed)),
      kernel_(find_depthwise_kernel(
          geometry_.window.kernel[2], geometry_.window.stride[2], geometry_.window.dilation[2])),
      kernel_rows_(geometry_.window.kernel[0] * geometry_.window.kernel[1]) {
    const size_t spatial = size_t(x.shape.rank()) - 2;
    x_strides_[0] = x.strides[0];
    for (size_t axis = 0; axis < spatial; ++axis) {
        x_strides_[kMaxSpatialRank - spatial + axis + 1] = x.strides[axis + 2];
    }
    const double row_flops =
        2.0 * double(channels_ * geometry_.window.output[2] * geometry_.window.kernel_count());
    rows_per_tile_ = std::max<int64_t>(1, int64_t(kTaskFlops / std::max(row_flops, 1.0)));
    tile_count = (row_count_ + rows_per_tile_ - 1) / rows_per_tile_;
    cost_ns = row_flops * double(row_count_) / kAssumedFlopsPerNs;
    kernel_name = "depthwise_f32";
    // Input row offsets and weight addresses of a row's kernel rows, then results before the
    // epilogue.
    scratch_bytes = kernel_rows_ * int64_t{sizeof(int64_t) + sizeof(const float*)};
    if (!in_registers_) {
        scratch_bytes += geometry_.window.output[2] * channels_ * int64_t{sizeof(float)};
    }
}

Status DepthwiseConv::run(const KernelArgs& args, int64_t tile_begin, int64_t tile_end) const {
    const int64_t end = std::min(tile_end * rows_per_tile_, row_count_);
    for (int64_t row = tile_begin * rows_per_tile_; row < end; ++row) {
        LEAT_RETURN_IF_ERROR(run_row(args, row));
    }
    return {};
}

Status DepthwiseConv::run_row(const KernelArgs& args, int64_t row) const {
    if (geometry_.window.output[2] == 0) {
        return {};
    }
    auto* x_rows = reinterpret_cast<int64_t*>(args.scratch);
    auto* weights = reinterpret_cast<const float**>(x_rows + kernel_rows_);
    auto* results = reinterpret_cast<float*>(weights + kernel_rows_);
    const int64_t h = row % geometry_.window.output[1];
    const int64_t d = row / geometry_.window.output[1] % geometry_.window.output[0];
    const int64_t n = row / (geometry_.window.output[1] * geometry_.window.output[0]);
    const IndexRange d_taps =
        taps_inside(geometry_.window.origin(0, d), geometry_.window.dilation[0],
                    geometry_.window.kernel[0], geometry_.window.input[0]);
    const IndexRange h_taps =
        taps_inside(geometry_.window.origin(1, h), geometry_.window.dilation[1],
                    geometry_.window.kernel[1], geometry_.window.input[1]);
    const auto* packed = reinterpret_cast<const float*>(packed_.get());

    DepthwiseRow call;
    for (int64_t kd = d_taps.begin; kd < d_taps.end; ++kd) {
        for (int64_t kh = h_taps.begin; kh < h_taps.end; ++kh) {
            x_rows[call.row_count] =
                n * x_strides_[0] +
                (geometry_.window.origin(0, d) + kd * geometry_.window.dilation[0]) *
                    x_strides_[1] +
                (geometry_.window.origin(1, h) + kh * geometry_.window.dilation[1]) * x_strides_[2];
            weights[call.row_count++] = packed + (kd * geometry_.window.kernel[1] + kh) *
                                                     geometry_.window.kernel[2] * padded_channels_;
        }
    }
    call.x = args.inputs[0].as<float>();
    call.x_rows = x_rows;
    call.weights = weights;
    call.weight_stride = padded_channels_;
    call.taps = geometry_.window.kernel[2];
    call.stride = geometry_.window.stride[2];
    call.dilation = geometry_.window.dilation[2];
    call.pad = geometry_.window.pad_begin[2];
    call.width = geometry_.window.input[2];
    call.x_stride = x_strides_[3];
    call.channels = channels_;
    call.y_width = geometry_.window.output[2];
    if (!epilogue_->has_residual()) {
        call.bias = epilogue_->bias();
        call.clip = epilogue_->clips();
        call.low = epilogue_->low();
        call.high = epilogue_->high();
    }
    if (!in_registers_) {
        call.y = results;
        call.y_stride = channels_;
        kernel_(call);
        return finish_row(args, row, results);
    }
    call.y = args.outputs[0].as<float>() + y_.offset(row * geometry_.window.output[2]);
    call.y_stride = y_stride_;
    kernel_(call);
    return {};
}

// The epilogue outside registers, in place. Positions of few channels go together: an elementary
// function of two vectors takes as long as one of ten.
Status DepthwiseConv::finish_row(const KernelArgs& args, int64_t row, float* results) const {
    std::array<GemmRow, kEpiloguePositions> positions;
    const int64_t step = channels_ <= kEpilogueColumns ? kEpiloguePositions : 1;
    for (int64_t w = 0; w < geometry_.window.output[2]; w += step) {
        const int64_t count = std::min(step, geometry_.window.output[2] - w);
        for (int64_t i = 0; i < count; ++i) {
            positions[size_t(i)].row = int32_t(row * geometry_.window.output[2] + w + i);
        }
        LEAT_RETURN_IF_ERROR(
            finish_positions(args, {positions.data(), size_t(count)}, results + w * channels_));
    }
    return {};
}

Status DepthwiseConv::finish_positions(const KernelArgs& args,
                                       std::span<const GemmRow> positions,
                                       float* results) const {
    for (int64_t channel = 0; channel < channels_; channel += kEpilogueColumns) {
        const int64_t count = std::min(kEpilogueColumns, channels_ - channel);
        if (epilogue_->has_residual()) {
            for (size_t i = 0; i < positions.size(); ++i) {
                epilogue_->apply_first(args, results + int64_t(i) * channels_ + channel,
                                       positions[i].row, channel, count);
            }
        }
        if (epilogue_->has_more()) {
            LEAT_RETURN_IF_ERROR(
                epilogue_->apply(args, results + channel, count, positions, channel, count));
        }
    }
    for (const GemmRow& position : positions) {
        std::copy_n(results, channels_, args.outputs[0].as<float>() + y_.offset(position.row));
        results += channels_;
    }
    return {};
}

}  // namespace

bool covers_depthwise(const ConvGeometry& geometry, const TensorArg& x, const TensorArg& y) {
    return geometry.groups > 1 && geometry.in_channels_per_group() == 1 &&
           geometry.out_channels_per_group() == 1 && x.strides[1] == 1 && y.strides[1] == 1;
}

Result<std::unique_ptr<CpuKernel>> make_depthwise(PrepareContext& context,
                                                  const ConvGeometry& geometry,
                                                  Epilogue epilogue) {
    // [taps][channels], from [channels][taps].
    const int64_t taps = geometry.window.kernel_count();
    const int64_t padded = pad_channels(geometry.in_channels);
    const std::span<const float> scale = weight_scale(context.node);
    const auto pack = [&](const Tensor& tensor, std::byte* packed) {
        auto* to = reinterpret_cast<float*>(packed);
        for (int64_t tap = 0; tap < taps; ++tap) {
            const int64_t k_offsets[] = {tap};
            pack_panels({tensor.bytes(), k_offsets, geometry.in_channels, taps, scale}, padded, 1,
                        to + tap * padded);
        }
    };
    LEAT_ASSIGN_OR_RETURN(
        auto packed,
        context.weights.get_or_pack(*context.constants[1],
                                    fmt::format("depthwise_f32 taps={} c={}{}", taps,
                                                geometry.in_channels, column_factors_key(scale)),
                                    taps * padded * int64_t{sizeof(float)}, pack));
    context.packed_inputs |= 2;
    return std::unique_ptr<CpuKernel>(std::make_unique<DepthwiseConv>(
        geometry, context.inputs[0], context.outputs[0],
        std::make_shared<const Epilogue>(std::move(epilogue)), std::move(packed)));
}

std::unique_ptr<CpuKernel> remake_depthwise(PrepareContext& context) {
    const auto* former = former_kernel<DepthwiseConv>(context);
    if (former == nullptr || !keeps_epilogue(context, 1, context.node.own_inputs())) {
        return nullptr;
    }
    ConvGeometry geometry = former->geometry();
    geometry.batch = context.inputs[0].shape[0];
    context.packed_inputs |= 2;
    return std::make_unique<DepthwiseConv>(geometry, context.inputs[0], context.outputs[0],
                                           former->epilogue(), former->packed());
}

}  // namespace leat::cpu
