// Col2Im by units: the channels of all images. A tap is added line by line of the innermost axis,
// in the order of the reference kernel, so that the bits are its bits.
#include <algorithm>
#include <array>

#include "backends/cpu/unit_kernel.h"
#include "ops/col2im/col2im.h"
#include "ops/slice/slice.h"
#include "ops/window.h"

namespace leat {
namespace {

constexpr double kCol2ImElementsPerNs = 1;

struct Col2ImParams {
    ColumnBlocks blocks;
    int64_t pixels = 0;
    int64_t outer_blocks = 1;  // of all axes but the innermost
};

using BlockIndex = std::array<int64_t, kMaxRank>;

// The number of the first pixel in the line of the image that a line of blocks meets, or -1.
int64_t line_of_pixels(const ColumnBlocks& blocks, const BlockIndex& tap, const BlockIndex& at) {
    int64_t line = 0;
    const size_t last = blocks.image.size() - 1;
    for (size_t i = 0; i < last; ++i) {
        const int64_t along =
            at[i] * blocks.stride[i] + tap[i] * blocks.dilation[i] - blocks.pad_begin[i];
        if (along < 0 || along >= blocks.image[i]) {
            return -1;
        }
        line = line * blocks.image[i] + along;
    }
    return line * blocks.image[last];
}

// The next index on the axes in front of `end`.
void advance_block_index(BlockIndex& index, const std::vector<int64_t>& extents, size_t end) {
    for (size_t axis = end; axis-- > 0;) {
        if (++index[axis] < extents[axis]) {
            return;
        }
        index[axis] = 0;
    }
}

// The columns of one line of blocks, in the pixels from `first` on, which may lie before the line.
template <class T>
void add_block_line(
    const T* columns, const IndexRange& inside, int64_t stride, double* sums, int64_t first) {
    for (int64_t b = inside.begin; b < inside.end; ++b) {
        sums[first + b * stride] += double(columns[b]);
    }
}

template <class T>
void add_image_channel(const Col2ImParams& params, const T* columns, double* sums) {
    const ColumnBlocks& blocks = params.blocks;
    const size_t last = blocks.image.size() - 1;
    const int64_t count = blocks.count[last];
    const int64_t stride = blocks.stride[last];
    BlockIndex tap{};
    for (int64_t t = 0; t < blocks.block_elements; ++t) {
        const int64_t origin = tap[last] * blocks.dilation[last] - blocks.pad_begin[last];
        const IndexRange inside = taps_inside(origin, stride, count, blocks.image[last]);
        BlockIndex at{};
        for (int64_t outer = 0; outer < params.outer_blocks; ++outer, columns += count) {
            const int64_t line = line_of_pixels(blocks, tap, at);
            if (line >= 0) {
                add_block_line(columns, inside, stride, sums, line + origin);
            }
            advance_block_index(at, blocks.count, last);
        }
        advance_block_index(tap, blocks.block, last + 1);
    }
}

template <class T>
void add_image_channels(const Col2ImParams& params,
                        const cpu::KernelArgs& args,
                        int64_t begin,
                        int64_t end) {
    auto* const sums = reinterpret_cast<double*>(args.scratch);
    const int64_t columns = params.blocks.block_elements * params.blocks.blocks;
    for (int64_t channel = begin; channel < end; ++channel) {
        std::fill_n(sums, params.pixels, 0.0);
        add_image_channel(params, args.inputs[0].as<const T>() + channel * columns, sums);
        T* const y = args.outputs[0].as<T>() + channel * params.pixels;
        std::transform(sums, sums + params.pixels, y, [](double sum) { return T(sum); });
    }
}

Result<std::unique_ptr<cpu::CpuKernel>> make_col2im(cpu::PrepareContext& context) {
    const TensorArg& x = context.inputs[0];
    const TensorArg& y = context.outputs[0];
    const bool is_float = x.dtype == DType::kFloat32 || x.dtype == DType::kFloat64;
    if (!is_float || y.shape.element_count() == 0 || context.inputs[1].data == nullptr ||
        context.inputs[2].data == nullptr) {
        return std::unique_ptr<cpu::CpuKernel>();
    }
    Col2ImParams params;
    LEAT_ASSIGN_OR_RETURN(params.blocks,
                          ColumnBlocks::make(context.node, read_ints(context.inputs[1]),
                                             read_ints(context.inputs[2])));
    if (x.shape[1] != y.shape[1] * params.blocks.block_elements ||
        x.shape[2] != params.blocks.blocks) {
        return std::unique_ptr<cpu::CpuKernel>();  // the reference kernel says what is wrong
    }
    params.pixels = y.shape.element_count(2, y.shape.rank());
    params.outer_blocks = params.blocks.blocks / params.blocks.count.back();
    const int64_t scratch_bytes = params.pixels * int64_t{sizeof(double)};
    auto kernel = std::make_unique<cpu::UnitKernel<Col2ImParams>>(
        "col2im_lines",
        x.dtype == DType::kFloat32 ? add_image_channels<float> : add_image_channels<double>,
        std::move(params), y.shape[0] * y.shape[1],
        double(x.shape.element_count() + y.shape.element_count()) / kCol2ImElementsPerNs);
    kernel->scratch_bytes = scratch_bytes;
    return std::unique_ptr<cpu::CpuKernel>(std::move(kernel));
}

constexpr cpu::CpuKernelEntry kCol2ImCpuKernels[] = {{"Col2Im", make_col2im}};

}  // namespace

std::span<const cpu::CpuKernelEntry> col2im_cpu_kernels() {
    return kCol2ImCpuKernels;
}

}  // namespace leat
