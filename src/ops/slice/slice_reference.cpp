#include "ops/movement/movement.h"
#include "ops/slice/slice.h"

namespace leat {

std::vector<int64_t> read_ints(const TensorArg& operand) {
    const int64_t count = operand.shape.element_count();
    std::vector<int64_t> values;
    for (int64_t i = 0; i < count; ++i) {
        values.push_back(operand.dtype == DType::kInt32 ? operand.as<int32_t>()[i]
                                                        : operand.as<int64_t>()[i]);
    }
    return values;
}

Status slice_reference(const ReferenceArgs& args) {
    const TensorArg& x = args.inputs[0];
    const TensorArg& y = args.outputs[0];
    const auto read = [&args](size_t i) {
        return i < args.inputs.size() && args.inputs[i].present() ? read_ints(args.inputs[i])
                                                                  : std::vector<int64_t>();
    };
    const std::vector<int64_t> axes = read(3);
    const std::vector<int64_t> steps = read(4);
    const bool has_axes = args.inputs.size() > 3 && args.inputs[3].present();
    const bool has_steps = args.inputs.size() > 4 && args.inputs[4].present();
    LEAT_ASSIGN_OR_RETURN(const std::vector<SliceAxis> slices,
                          slice_axes(x.shape, read(1), read(2), has_axes ? &axes : nullptr,
                                     has_steps ? &steps : nullptr));
    StridedPlace source{x.data, 0, {}};
    for (size_t axis = 0; axis < slices.size(); ++axis) {
        // With one element at most, the step does not matter and may be huge.
        const int64_t step = slices[axis].extent > 1 ? slices[axis].step : 0;
        source.offset += slices[axis].start * x.strides[axis];
        source.strides[axis] = step * x.strides[axis];
    }
    copy_strided_plain(x.dtype, y.shape, source, {y.data, 0, y.strides});
    return {};
}

}  // namespace leat
