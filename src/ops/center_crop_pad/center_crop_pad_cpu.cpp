// CenterCropPad as copies that share no element of y: the box, and slabs of zeros around it.
#include "ops/center_crop_pad/center_crop_pad.h"
#include "ops/movement/movement_cpu.h"

namespace leat {
namespace cpu {
namespace {

// Zeros in the box of y that has these extents.
CopyJob zero_job(const TensorArg& y, const Shape& begin, const Shape& extents) {
    const auto axes = copy_axes(extents, Strides{}, y.strides);
    return {CopyJob::kZeros, 0,
            StridedCopy(axes, element_bytes(y.dtype), 0, box_offset(begin, y.strides))};
}

Result<std::unique_ptr<CpuKernel>> make_center_crop_pad(PrepareContext& context) {
    const TensorArg& x = context.inputs[0];
    const TensorArg& y = context.outputs[0];
    if (!has_byte_elements(y.dtype) || y.shape.element_count() == 0) {
        return std::unique_ptr<CpuKernel>();
    }
    const CenterBox box = CenterBox::make(x.shape, y.shape);
    std::vector<CopyJob> jobs;
    jobs.reserve(2 * size_t(y.shape.rank()) + 1);
    jobs.push_back(
        {0, 0,
         StridedCopy(copy_axes(box.extents, x.strides, y.strides), element_bytes(y.dtype),
                     box_offset(box.x_begin, x.strides), box_offset(box.y_begin, y.strides))});
    // Slabs before and behind the box on an axis: of y's extent on later axes, of the box's on
    // earlier ones.
    Shape begin = y.shape;
    std::fill_n(&begin[0], y.shape.rank(), 0);
    Shape extents = y.shape;
    for (int axis = 0; axis < y.shape.rank(); ++axis) {
        const int64_t before = box.y_begin[axis];
        const int64_t end = before + box.extents[axis];
        extents[axis] = before;
        jobs.push_back(zero_job(y, begin, extents));
        begin[axis] = end;
        extents[axis] = y.shape[axis] - end;
        jobs.push_back(zero_job(y, begin, extents));
        begin[axis] = before;
        extents[axis] = box.extents[axis];
    }
    return make_copy_kernel(std::move(jobs), "center_crop_pad_copy");
}

constexpr CpuKernelEntry kCenterCropPadCpuKernels[] = {{"CenterCropPad", make_center_crop_pad}};

}  // namespace
}  // namespace cpu

std::span<const cpu::CpuKernelEntry> center_crop_pad_cpu_kernels() {
    return cpu::kCenterCropPadCpuKernels;
}

}  // namespace leat
