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

std::optional<std::vector<int64_t>> find_ints(std::span<const TensorArg> operands, int i) {
    const TensorArg* operand = find_arg(operands, i);
    return operand != nullptr ? std::optional(read_ints(*operand)) : std::nullopt;
}

Status slice_reference(const ReferenceArgs& args) {
    const TensorArg& x = args.inputs[0];
    const TensorArg& y = args.outputs[0];
    LEAT_ASSIGN_OR_RETURN(const std::vector<SliceAxis> slices, slice_axes(args.inputs));
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
