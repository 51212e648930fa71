#include <algorithm>
#include <limits>

#include "ops/movement/movement_cpu.h"
#include "ops/pad/pad.h"

namespace leat {
namespace cpu {
namespace {

// Beyond it, pads of many axes are copied by the plain kernel.
constexpr int64_t kMaxBoxes = 4096;

// Consecutive indices of y along an axis that a straight run of x gives, or the constant.
struct Piece {
    int64_t begin = 0;  // in y
    int64_t extent = 0;
    int64_t source = 0;  // index of x; -1: the constant
    int64_t step = 0;    // 1, 0 or -1
};

// The straight run that begins at an index, counted from x's first element: its source and step,
// and how many indices it has where nothing ends y before.
Piece straight_run(PadMode mode, int64_t index, int64_t extent) {
    constexpr int64_t kToTheEnd = std::numeric_limits<int64_t>::max();
    const int64_t source = pad_source(mode, index, extent);
    if (index >= 0 && index < extent) {
        return {0, extent - index, source, 1};
    }
    if (mode == PadMode::kConstant || mode == PadMode::kEdge || extent == 1) {
        return {0, index < 0 ? -index : kToTheEnd, source, 0};
    }
    if (mode == PadMode::kWrap) {
        return {0, extent - source, source, 1};
    }
    const int64_t period = 2 * (extent - 1);
    const int64_t phase = (index % period + period) % period;
    return phase < extent - 1 ? Piece{0, extent - phase, source, 1}
                              : Piece{0, period - phase + 1, source, -1};
}

// No more than are copied box by box, and one: data may ask for any extent.
std::vector<Piece> axis_pieces(PadMode mode,
                               const PadAxis& pad,
                               int64_t x_extent,
                               int64_t y_extent) {
    std::vector<Piece> pieces;
    for (int64_t i = 0; i < y_extent && int64_t(pieces.size()) <= kMaxBoxes;) {
        Piece piece = straight_run(mode, i - pad.before, x_extent);
        piece.begin = i;
        piece.extent = std::min(piece.extent, y_extent - i);
        i += piece.extent;
        pieces.push_back(piece);
    }
    return pieces;
}

// The copy of one box, a piece of every axis.
CopyJob box_job(const PrepareContext& context,
                const std::vector<std::vector<Piece>>& pieces,
                const std::vector<size_t>& choice) {
    const TensorArg& x = context.inputs[0];
    const TensorArg& y = context.outputs[0];
    std::vector<CopyAxis> axes;
    int64_t source_offset = 0;
    int64_t destination_offset = 0;
    bool constant = false;
    for (size_t axis = 0; axis < pieces.size(); ++axis) {
        const Piece& piece = pieces[axis][choice[axis]];
        constant = constant || piece.source < 0;
        source_offset += piece.source * x.strides[axis];
        destination_offset += piece.begin * y.strides[axis];
        axes.push_back({piece.extent, piece.step * x.strides[axis], y.strides[axis]});
    }
    int input = 0;
    if (constant) {
        source_offset = 0;
        for (CopyAxis& axis : axes) {
            axis.source_stride = 0;
        }
        input = find_arg(context.inputs, 2) != nullptr ? 2 : CopyJob::kZeros;
    }
    return {input, 0, StridedCopy(axes, element_bytes(y.dtype), source_offset, destination_offset)};
}

std::vector<CopyJob> box_jobs(const PrepareContext& context,
                              const std::vector<std::vector<Piece>>& pieces,
                              int64_t boxes) {
    std::vector<CopyJob> jobs;
    std::vector<size_t> choice(pieces.size(), 0);
    for (int64_t box = 0; box < boxes; ++box) {
        jobs.push_back(box_job(context, pieces, choice));
        for (size_t axis = pieces.size(); axis-- > 0;) {
            if (++choice[axis] < pieces[axis].size()) {
                break;
            }
            choice[axis] = 0;
        }
    }
    return jobs;
}

Result<std::unique_ptr<CpuKernel>> make_pad(PrepareContext& context) {
    const TensorArg& x = context.inputs[0];
    const TensorArg& y = context.outputs[0];
    const TensorArg* axes = find_arg(context.inputs, 3);
    if (!has_byte_elements(x.dtype) || context.inputs[1].data == nullptr ||
        (axes != nullptr && axes->data == nullptr)) {
        return std::unique_ptr<CpuKernel>();
    }
    LEAT_ASSIGN_OR_RETURN(const PadMode mode, pad_mode(context.node));
    LEAT_ASSIGN_OR_RETURN(const std::vector<PadAxis> pads, pad_axes(context.inputs));

    std::vector<std::vector<Piece>> pieces;
    int64_t boxes = y.shape.element_count() == 0 ? 0 : 1;
    for (int axis = 0; axis < x.shape.rank() && boxes > 0; ++axis) {
        pieces.push_back(axis_pieces(mode, pads[size_t(axis)], x.shape[axis], y.shape[axis]));
        boxes *= int64_t(pieces.back().size());
        if (boxes > kMaxBoxes) {
            return std::unique_ptr<CpuKernel>();
        }
    }
    return make_copy_kernel(box_jobs(context, pieces, boxes), "pad_copy");
}

constexpr CpuKernelEntry kPadCpuKernels[] = {{"Pad", make_pad}};

}  // namespace
}  // namespace cpu

std::span<const cpu::CpuKernelEntry> pad_cpu_kernels() {
    return cpu::kPadCpuKernels;
}

}  // namespace leat
