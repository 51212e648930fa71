// ConvInteger and QLinearConv on the integer tile, with weights as its rows and positions of y as
// its columns: what the windows of a panel of positions read is copied into a matrix [taps,
// positions], and positions outside x become the zero point of x. Constant weights are packed once.
#include <algorithm>
#include <array>
#include <cstring>

#include "base/parts.h"
#include "base/round_up.h"
#include "memory/domains/weight_store.h"
#include "ops/conv_integer/integer_conv_cpu.h"
#include "ops/matmul_integer/requantize.h"

namespace leat {
namespace cpu {
namespace {

constexpr int64_t kLine = 64;

// Two moves of half that overlap where the count is no power of two.
template <size_t kBytes>
void copy_overlapping(const uint8_t* from, uint8_t* to, int64_t count) {
    std::array<uint8_t, kBytes> first{};
    std::array<uint8_t, kBytes> last{};
    std::memcpy(first.data(), from, kBytes);
    std::memcpy(last.data(), from + count - kBytes, kBytes);
    std::memcpy(to, first.data(), kBytes);
    std::memcpy(to + count - kBytes, last.data(), kBytes);
}

// At most a panel's columns; a call of the C library takes longer.
void copy_short(const uint8_t* from, uint8_t* to, int64_t count) {
    static_assert(kMaxIntegerColumns <= 32);
    if (count >= 16) {
        copy_overlapping<16>(from, to, count);
    } else if (count >= 8) {
        copy_overlapping<8>(from, to, count);
    } else if (count >= 4) {
        copy_overlapping<4>(from, to, count);
    } else {
        for (int64_t i = 0; i < count; ++i) {
            to[i] = from[i];
        }
    }
}

void fill_short(uint8_t* to, int64_t count, uint8_t value) {
    for (int64_t i = 0; i < count; ++i) {
        to[i] = value;
    }
}

class IntegerConvKernel final : public CpuKernel {
  public:
    IntegerConvKernel(const IntegerConv& conv, std::shared_ptr<const std::byte> packed);
    Status run(const KernelArgs& args, int64_t tile_begin, int64_t tile_end) const override;

  private:
    // One group of one image.
    struct Weights {
        const std::byte* rows;
        const int32_t* sums;
    };
    // Neighbouring positions in a row of y.
    struct Segment {
        Extents begin;
        int64_t column;  // of the panel
        int64_t count;
    };
    struct Panel {
        int64_t first;  // position of y
        int64_t count;
        const int8_t* packed;
        std::array<int32_t, kMaxIntegerColumns> sums;
        std::array<Segment, kMaxIntegerColumns> segments;
        size_t segment_count;
    };
    // What all channels of a run have in common.
    struct Common {
        int32_t x_zero;  // packed
        int32_t y_zero;
        float x_scale;
        float y_scale;
    };
    void run_tile(const KernelArgs& args, int64_t tile) const;
    Weights bind_weights(const KernelArgs& args, int64_t group) const;
    void bind_panel(const KernelArgs& args, int64_t image, int64_t group, Panel& panel) const;
    // Rows of `columns` bytes that begin at `to`, for all channels and taps.
    void copy_windows(const uint8_t* x, uint8_t x_zero, const Panel& panel, uint8_t* to) const;
    void copy_segment(const uint8_t* x,
                      uint8_t x_zero,
                      const Segment& segment,
                      const Extents& tap,
                      uint8_t* to) const;
    void find_segments(Panel& panel) const;
    Common common_of(const KernelArgs& args) const;
    void finish_row(const KernelArgs& args,
                    const Common& common,
                    const Panel& panel,
                    int64_t image,
                    int64_t channel,
                    int32_t w_sum,
                    const int32_t* sums) const;

    const IntegerGemm& gemm_ = integer_gemm();
    IntegerConv conv_;
    std::shared_ptr<const std::byte> packed_;  // null: weights are read at run time
    int64_t panel_blocks_ = 1;
    // Bytes from the beginning of the scratch memory.
    int64_t sums_at_ = 0;
    int64_t panel_at_ = 0;
    int64_t windows_at_ = 0;
    int64_t weights_at_ = 0;
    int64_t weight_sums_at_ = 0;
};

IntegerConvKernel::IntegerConvKernel(const IntegerConv& conv,
                                     std::shared_ptr<const std::byte> packed)
    : conv_(conv), packed_(std::move(packed)) {
    const int64_t k = conv.k();
    const int64_t panels = std::max<int64_t>(1, gemm_.panels(conv.positions()));
    const double macs = double(conv.rows()) * double(k) * double(gemm_.columns);
    // Copying and packing a byte takes about 0.3 ns.
    const double panel_ns = macs / gemm_.macs_per_ns + 0.3 * double(k * gemm_.columns) + 100;
    const auto wanted_panels = std::max<int64_t>(1, int64_t(20e3 / panel_ns));
    panel_blocks_ = divide_up(panels, std::min(wanted_panels, panels));
    const int64_t planes = conv.geometry.batch * conv.geometry.groups;
    kernel_name = gemm_.name;
    tile_count = std::max<int64_t>(1, planes * panel_blocks_);
    cost_ns = panel_ns * double(planes * panels);
    allows_in_place = false;
    panel_at_ = sums_at_ + gemm_.max_rows * gemm_.columns * int64_t{sizeof(int32_t)};
    windows_at_ = panel_at_ + round_up(gemm_.panel_bytes(k), kLine);
    weights_at_ = windows_at_ + (conv.is_pointwise() ? 0 : round_up(k * gemm_.columns, kLine));
    weight_sums_at_ =
        weights_at_ +
        (packed_ != nullptr ? 0 : round_up(conv.rows() * gemm_.a_row_bytes(k), kLine));
    scratch_bytes =
        weight_sums_at_ + (packed_ != nullptr ? 0 : conv.rows() * int64_t{sizeof(int32_t)});
}

Status IntegerConvKernel::run(const KernelArgs& args, int64_t tile_begin, int64_t tile_end) const {
    if (conv_.geometry.batch * conv_.positions() * conv_.rows() == 0) {
        return {};
    }
    for (int64_t tile = tile_begin; tile < tile_end; ++tile) {
        run_tile(args, tile);
    }
    return {};
}

IntegerConvKernel::Weights IntegerConvKernel::bind_weights(const KernelArgs& args,
                                                           int64_t group) const {
    const int64_t k = conv_.k();
    const int64_t rows = conv_.rows();
    if (packed_ != nullptr) {
        const int64_t all = conv_.geometry.out_channels * gemm_.a_row_bytes(k);
        return {
            packed_.get() + group * rows * gemm_.a_row_bytes(k),
            reinterpret_cast<const int32_t*>(packed_.get() + round_up(all, kLine)) + group * rows};
    }
    const auto* w = args.inputs[size_t(conv_.operands.w)].as<const uint8_t>() + group * rows * k;
    auto* sums = reinterpret_cast<int32_t*>(args.scratch + weight_sums_at_);
    gemm_.pack_a({w, 1, k, flip_to_unsigned(conv_.w)}, rows, k, args.scratch + weights_at_, sums);
    return {args.scratch + weights_at_, sums};
}

void IntegerConvKernel::run_tile(const KernelArgs& args, int64_t tile) const {
    const int64_t block = tile % panel_blocks_;
    const int64_t plane = tile / panel_blocks_;
    const int64_t group = plane % conv_.geometry.groups;
    const int64_t image = plane / conv_.geometry.groups;
    const int64_t panels = gemm_.panels(conv_.positions());
    const int64_t k = conv_.k();
    const int64_t row_bytes = gemm_.a_row_bytes(k);
    const int64_t rows = conv_.rows();
    const Weights weights = bind_weights(args, group);
    auto* sums = reinterpret_cast<int32_t*>(args.scratch + sums_at_);
    Panel panel{};
    const Common common = common_of(args);
    for (int64_t i = part_begin(panels, panel_blocks_, block);
         i < part_begin(panels, panel_blocks_, block + 1); ++i) {
        panel.first = i * gemm_.columns;
        panel.count = std::min(gemm_.columns, conv_.positions() - panel.first);
        bind_panel(args, image, group, panel);
        for (int64_t r = 0; r < rows; r += gemm_.max_rows) {
            const int64_t count = std::min(gemm_.max_rows, rows - r);
            gemm_.multiply(weights.rows + r * row_bytes, row_bytes, count, panel.packed,
                           gemm_.groups(k), sums);
            for (int64_t j = 0; j < count; ++j) {
                finish_row(args, common, panel, image, group * rows + r + j, weights.sums[r + j],
                           sums + j * gemm_.columns);
            }
        }
    }
}

void IntegerConvKernel::bind_panel(const KernelArgs& args,
                                   int64_t image,
                                   int64_t group,
                                   Panel& panel) const {
    const ConvGeometry& geometry = conv_.geometry;
    const int64_t plane = geometry.window.input_count();
    const int64_t channel = image * geometry.in_channels + group * geometry.in_channels_per_group();
    const auto* x = args.inputs[size_t(conv_.operands.x)].as<const uint8_t>() + channel * plane;
    auto* packed = reinterpret_cast<int8_t*>(args.scratch + panel_at_);
    ByteMatrix matrix{x + panel.first, plane, 1, flip_to_signed(conv_.x)};
    if (!conv_.is_pointwise()) {
        auto* windows = reinterpret_cast<uint8_t*>(args.scratch + windows_at_);
        find_segments(panel);
        copy_windows(x, conv_parameter<uint8_t>(args, conv_.operands.x_zero, 0), panel, windows);
        matrix.data = windows;
        matrix.k_stride = gemm_.columns;
    }
    gemm_.pack_panel(matrix, panel.count, conv_.k(), packed, panel.sums.data());
    panel.packed = packed;
}

void IntegerConvKernel::copy_windows(const uint8_t* x,
                                     uint8_t x_zero,
                                     const Panel& panel,
                                     uint8_t* to) const {
    const WindowGeometry& window = conv_.geometry.window;
    for (int64_t t = 0; t < window.kernel_count(); ++t, to += gemm_.columns) {
        const Extents tap = position_of(t, window.kernel);
        for (size_t i = 0; i < panel.segment_count; ++i) {
            copy_segment(x, x_zero, panel.segments[i], tap, to + panel.segments[i].column);
        }
    }
}

void IntegerConvKernel::find_segments(Panel& panel) const {
    const Extents& output = conv_.geometry.window.output;
    panel.segment_count = 0;
    for (int64_t i = 0; i < panel.count;) {
        Segment& segment = panel.segments[panel.segment_count++];
        segment.begin = position_of(panel.first + i, output);
        segment.column = i;
        segment.count = std::min(panel.count - i, output[2] - segment.begin[2]);
        i += segment.count;
    }
}

void IntegerConvKernel::copy_segment(const uint8_t* x,
                                     uint8_t x_zero,
                                     const Segment& segment,
                                     const Extents& tap,
                                     uint8_t* to) const {
    const WindowGeometry& window = conv_.geometry.window;
    const int64_t count = segment.count;
    Extents origin{};
    for (size_t axis = 0; axis < origin.size(); ++axis) {
        origin[axis] =
            window.origin(int(axis), segment.begin[axis]) + tap[axis] * window.dilation[axis];
    }
    IndexRange inside;
    if (window.stride[2] == 1) {  // without divisions
        inside.begin = std::clamp<int64_t>(-origin[2], 0, count);
        inside.end = std::clamp(window.input[2] - origin[2], inside.begin, count);
    } else {
        inside = taps_inside(origin[2], window.stride[2], count, window.input[2]);
    }
    if (origin[0] < 0 || origin[0] >= window.input[0] || origin[1] < 0 ||
        origin[1] >= window.input[1] || inside.count() == 0) {
        inside = {0, 0};
    }
    const int64_t stride = window.stride[2];
    const int64_t row_bytes = gemm_.columns * window.kernel_count();
    const uint8_t* from =
        x + (origin[0] * window.input[1] + origin[1]) * window.input[2] + origin[2];
    for (int64_t c = 0; c < conv_.geometry.in_channels_per_group(); ++c, to += row_bytes) {
        if (inside.begin > 0) {
            fill_short(to, inside.begin, x_zero);
        }
        if (stride == 1) {
            copy_short(from + inside.begin, to + inside.begin, inside.count());
        } else {
            for (int64_t i = inside.begin; i < inside.end; ++i) {
                to[i] = from[i * stride];
            }
        }
        if (inside.end < count) {
            fill_short(to + inside.end, count - inside.end, x_zero);
        }
        from += window.input_count();
    }
}

IntegerConvKernel::Common IntegerConvKernel::common_of(const KernelArgs& args) const {
    const QuantizedConvOperands& operands = conv_.operands;
    return {packed_b_zero(conv_.x, conv_parameter<uint8_t>(args, operands.x_zero, 0)),
            conv_.y_zero(args), conv_parameter<float>(args, operands.x_scale, 0),
            conv_parameter<float>(args, operands.y_scale, 0)};
}

void IntegerConvKernel::finish_row(const KernelArgs& args,
                                   const Common& common,
                                   const Panel& panel,
                                   int64_t image,
                                   int64_t channel,
                                   int32_t w_sum,
                                   const int32_t* sums) const {
    const QuantizedConvOperands& operands = conv_.operands;
    RowFinish how;
    how.a_zero = packed_a_zero(conv_.w, conv_parameter<uint8_t>(args, operands.w_zero, channel));
    how.shift = row_shift(conv_.k(), how.a_zero, common.x_zero, w_sum,
                          conv_parameter<int32_t>(args, operands.bias, channel));
    how.y = conv_.y;
    if (how.y != DType::kInt32) {
        how.factor = requantize_factor(
            common.x_scale, conv_parameter<float>(args, operands.w_scale, channel), common.y_scale);
        how.y_zero = common.y_zero;
    }
    const int64_t at =
        (image * conv_.geometry.out_channels + channel) * conv_.positions() + panel.first;
    std::byte* y = args.outputs[0].data + at * conv_.y_element_bytes();
    gemm_.finish_columns(sums, panel.sums.data(), how, panel.count, y);
}

// Rows of all groups and then their sums; null where the weights are not constant.
Result<std::shared_ptr<const std::byte>> pack_weights(PrepareContext& context,
                                                      const IntegerConv& conv) {
    const auto input = size_t(conv.operands.w);
    const Tensor* source = context.constants[input];
    const int64_t k = conv.k();
    const int64_t rows = conv.geometry.out_channels;
    if (source == nullptr || rows * k == 0) {
        return std::shared_ptr<const std::byte>();
    }
    const IntegerGemm& gemm = integer_gemm();
    const int64_t sums_at = round_up(rows * gemm.a_row_bytes(k), kLine);
    const auto pack = [&](const Tensor& tensor, std::byte* packed) {
        gemm.pack_a(
            {reinterpret_cast<const uint8_t*>(tensor.bytes()), 1, k, flip_to_unsigned(conv.w)},
            rows, k, packed, reinterpret_cast<int32_t*>(packed + sums_at));
    };
    const std::string key = fmt::format("rows_i8 {} rows={} k={}", gemm.name, rows, k);
    LEAT_ASSIGN_OR_RETURN(
        auto packed,
        context.weights.get_or_pack(*source, key, sums_at + rows * int64_t{sizeof(int32_t)}, pack));
    context.packed_inputs |= uint64_t{1} << input;
    return packed;
}

Result<std::unique_ptr<CpuKernel>> make_integer_conv(PrepareContext& context) {
    LEAT_ASSIGN_OR_RETURN(const std::optional<IntegerConv> conv, IntegerConv::find(context));
    if (!conv) {
        return std::unique_ptr<CpuKernel>();
    }
    if (covers_integer_depthwise(*conv)) {
        return make_integer_depthwise(*conv);
    }
    LEAT_ASSIGN_OR_RETURN(auto packed, pack_weights(context, *conv));
    return std::unique_ptr<CpuKernel>(
        std::make_unique<IntegerConvKernel>(*conv, std::move(packed)));
}

constexpr std::array<CpuKernelEntry, 2> kConvIntegerCpuKernels = {
    {{"ConvInteger", &make_integer_conv}, {"QLinearConv", &make_integer_conv}}};

}  // namespace

Result<std::optional<IntegerConv>> IntegerConv::find(const PrepareContext& context) {
    IntegerConv conv;
    conv.operands = QuantizedConvOperands::of(context.node);
    const TensorArg& x = context.inputs[size_t(conv.operands.x)];
    const TensorArg& w = context.inputs[size_t(conv.operands.w)];
    const TensorArg& y = context.outputs[0];
    if (!x.is_row_major() || !w.is_row_major() || !y.is_row_major()) {
        return std::optional<IntegerConv>();
    }
    LEAT_ASSIGN_OR_RETURN(conv.geometry,
                          ConvGeometry::make(context.node, x.shape, w.shape, y.shape));
    conv.x = x.dtype;
    conv.w = w.dtype;
    conv.y = y.dtype;
    return std::optional(conv);
}

int32_t IntegerConv::y_zero(const KernelArgs& args) const {
    return y == DType::kInt8 ? int32_t{conv_parameter<int8_t>(args, operands.y_zero, 0)}
                             : int32_t{conv_parameter<uint8_t>(args, operands.y_zero, 0)};
}

bool IntegerConv::is_pointwise() const {
    const WindowGeometry& window = geometry.window;
    return window.kernel_count() == 1 && window.input == window.output &&
           window.stride == Extents{1, 1, 1} && window.pad_begin == Extents{};
}

}  // namespace cpu

std::span<const cpu::CpuKernelEntry> conv_integer_cpu_kernels() {
    return cpu::kConvIntegerCpuKernels;
}

}  // namespace leat
