// Depthwise ConvInteger and QLinearConv, a plane of y after the other: the plane of x is copied
// with its padding, so that a part of a row of y is a weighted sum of parts of rows, without cases.
#include <algorithm>
#include <array>
#include <cstring>

#include "base/parts.h"
#include "base/round_up.h"
#include "ops/conv_integer/integer_conv_cpu.h"
#include "ops/matmul_integer/requantize.h"

namespace leat::cpu {
namespace {

constexpr int64_t kLine = 64;

class IntegerDepthwiseKernel final : public CpuKernel {
  public:
    explicit IntegerDepthwiseKernel(const IntegerConv& conv);
    Status run(const KernelArgs& args, int64_t tile_begin, int64_t tile_end) const override;

  private:
    struct Scratch {
        uint8_t* plane;
        int32_t* offsets;  // of taps in the plane
        int32_t* weights;
        int32_t* sums;
    };
    int64_t planes() const { return conv_.geometry.batch * conv_.geometry.out_channels; }
    void copy_plane(const KernelArgs& args, int64_t image, int64_t channel, uint8_t* plane) const;
    // Weights of an output channel without their zero point; their sum.
    int32_t bind_weights(const KernelArgs& args, int64_t channel, const Scratch& scratch) const;
    RowFinish finish_of(const KernelArgs& args, int64_t channel, int32_t w_sum) const;
    void run_plane(const KernelArgs& args, int64_t plane, const Scratch& scratch) const;

    const IntegerGemm& gemm_ = integer_gemm();
    IntegerConv conv_;
    // Rows and columns of x that the windows span, the padding included.
    int64_t height_ = 0;
    int64_t width_ = 0;
    int64_t offsets_at_ = 0;  // bytes from the beginning of the scratch memory
    int64_t weights_at_ = 0;
    int64_t sums_at_ = 0;
};

// Positions from the first tap of the first window to the last one of the last.
int64_t positions_spanned(const WindowGeometry& window, size_t axis) {
    return (window.output[axis] - 1) * window.stride[axis] +
           (window.kernel[axis] - 1) * window.dilation[axis] + 1;
}

IntegerDepthwiseKernel::IntegerDepthwiseKernel(const IntegerConv& conv)
    : conv_(conv),
      height_(positions_spanned(conv.geometry.window, 1)),
      width_(positions_spanned(conv.geometry.window, 2)) {
    const int64_t taps = conv.k();
    // A whole vector is read where a row ends within it, with a stride of 2 twice as many bytes.
    offsets_at_ = round_up(height_ * width_ + 2 * kMaxIntegerColumns, kLine);
    weights_at_ = offsets_at_ + round_up(taps * int64_t{sizeof(int32_t)}, kLine);
    sums_at_ = weights_at_ + round_up(taps * int64_t{sizeof(int32_t)}, kLine);
    scratch_bytes = sums_at_ + gemm_.columns * int64_t{sizeof(int32_t)};
    // Measured with AVX-512 on planes of 28 x 28.
    const double plane_ns = 0.1 * double(conv.positions() * taps) + 0.2 * double(height_ * width_) +
                            20 * double(conv.geometry.window.output[1]);
    kernel_name = "depthwise_i8";
    cost_ns = plane_ns * double(planes());
    tile_count = std::clamp<int64_t>(int64_t(cost_ns / 20e3), 1, std::max<int64_t>(planes(), 1));
    allows_in_place = false;
}

Status IntegerDepthwiseKernel::run(const KernelArgs& args,
                                   int64_t tile_begin,
                                   int64_t tile_end) const {
    const Scratch scratch{reinterpret_cast<uint8_t*>(args.scratch),
                          reinterpret_cast<int32_t*>(args.scratch + offsets_at_),
                          reinterpret_cast<int32_t*>(args.scratch + weights_at_),
                          reinterpret_cast<int32_t*>(args.scratch + sums_at_)};
    const WindowGeometry& window = conv_.geometry.window;
    for (int64_t t = 0; t < conv_.k(); ++t) {
        const Extents tap = position_of(t, window.kernel);
        scratch.offsets[t] =
            int32_t(tap[1] * window.dilation[1] * width_ + tap[2] * window.dilation[2]);
    }
    const int64_t end = part_begin(planes(), tile_count, tile_end);
    for (int64_t plane = part_begin(planes(), tile_count, tile_begin); plane < end; ++plane) {
        run_plane(args, plane, scratch);
    }
    return {};
}

void IntegerDepthwiseKernel::copy_plane(const KernelArgs& args,
                                        int64_t image,
                                        int64_t channel,
                                        uint8_t* plane) const {
    const WindowGeometry& window = conv_.geometry.window;
    const uint8_t flip = flip_to_unsigned(conv_.x);
    const auto zero = uint8_t(conv_parameter<uint8_t>(args, conv_.operands.x_zero, 0) ^ flip);
    const auto* x = args.inputs[size_t(conv_.operands.x)].as<const uint8_t>() +
                    (image * conv_.geometry.in_channels + channel) * window.input_count();
    std::memset(plane, zero, size_t(height_ * width_ + 2 * kMaxIntegerColumns));
    const int64_t top = window.pad_begin[1];
    const int64_t left = window.pad_begin[2];
    const int64_t count = std::min(window.input[2], width_ - left);
    const int64_t rows = std::min(window.input[1], height_ - top);
    for (int64_t i = 0; i < rows; ++i) {
        uint8_t* __restrict to = plane + (i + top) * width_ + left;
        const uint8_t* __restrict from = x + i * window.input[2];
        for (int64_t j = 0; j < count; ++j) {
            to[j] = uint8_t(from[j] ^ flip);
        }
    }
}

int32_t IntegerDepthwiseKernel::bind_weights(const KernelArgs& args,
                                             int64_t channel,
                                             const Scratch& scratch) const {
    const uint8_t flip = flip_to_unsigned(conv_.w);
    const int64_t taps = conv_.k();
    const auto* w = args.inputs[size_t(conv_.operands.w)].as<const uint8_t>() + channel * taps;
    const int32_t zero =
        packed_a_zero(conv_.w, conv_parameter<uint8_t>(args, conv_.operands.w_zero, channel));
    int32_t sum = 0;
    for (int64_t t = 0; t < taps; ++t) {
        scratch.weights[t] = int32_t{uint8_t(w[t] ^ flip)} - zero;
        sum += scratch.weights[t];
    }
    return sum;
}

RowFinish IntegerDepthwiseKernel::finish_of(const KernelArgs& args,
                                            int64_t channel,
                                            int32_t w_sum) const {
    const QuantizedConvOperands& operands = conv_.operands;
    const int32_t x_zero =
        packed_a_zero(conv_.x, conv_parameter<uint8_t>(args, operands.x_zero, 0));
    RowFinish how;
    how.shift =
        row_shift(0, 0, x_zero, w_sum, conv_parameter<int32_t>(args, operands.bias, channel));
    how.y = conv_.y;
    if (how.y != DType::kInt32) {
        how.factor = requantize_factor(conv_parameter<float>(args, operands.x_scale, 0),
                                       conv_parameter<float>(args, operands.w_scale, channel),
                                       conv_parameter<float>(args, operands.y_scale, 0));
        how.y_zero = conv_.y_zero(args);
    }
    return how;
}

void IntegerDepthwiseKernel::run_plane(const KernelArgs& args,
                                       int64_t plane,
                                       const Scratch& scratch) const {
    const WindowGeometry& window = conv_.geometry.window;
    const int64_t channel = plane % conv_.geometry.out_channels;
    const int64_t image = plane / conv_.geometry.out_channels;
    copy_plane(args, image, channel / conv_.rows(), scratch.plane);
    const RowFinish how = finish_of(args, channel, bind_weights(args, channel, scratch));
    const std::array<int32_t, kMaxIntegerColumns> no_sums{};
    const int64_t element_bytes = conv_.y_element_bytes();
    std::byte* y = args.outputs[0].data + plane * conv_.positions() * element_bytes;
    for (int64_t i = 0; i < window.output[1]; ++i) {
        for (int64_t j = 0; j < window.output[2]; j += gemm_.columns) {
            const int64_t count = std::min(gemm_.columns, window.output[2] - j);
            const uint8_t* x = scratch.plane + i * window.stride[1] * width_ + j * window.stride[2];
            gemm_.weigh_row(x, window.stride[2], scratch.offsets, scratch.weights, conv_.k(),
                            scratch.sums);
            gemm_.finish_columns(scratch.sums, no_sums.data(), how, count, y);
            y += count * element_bytes;
        }
    }
}

}  // namespace

bool covers_integer_depthwise(const IntegerConv& conv) {
    const WindowGeometry& window = conv.geometry.window;
    const bool is_flat = window.input[0] == 1 && window.kernel[0] == 1 && window.output[0] == 1 &&
                         window.pad_begin[0] == 0;
    const int64_t bytes = is_flat && conv.positions() > 0
                              ? positions_spanned(window, 1) * positions_spanned(window, 2)
                              : 0;
    // Offsets in the copy of a plane are i32; the copy stays in the cache.
    constexpr int64_t kMostBytes = int64_t{1} << 20;
    return conv.geometry.in_channels_per_group() == 1 && is_flat && window.stride[2] <= 2 &&
           bytes > 0 && bytes <= kMostBytes && window.input_count() > 0;
}

std::unique_ptr<CpuKernel> make_integer_depthwise(const IntegerConv& conv) {
    return std::make_unique<IntegerDepthwiseKernel>(conv);
}

}  // namespace leat::cpu
