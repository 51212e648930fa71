#include <algorithm>
#include <string>

#include "base/float_formats.h"
#include "ops/constant/constant.h"
#include "ops/movement/movement.h"

namespace leat {
namespace {

template <class T>
void fill_range(const TensorArg& y, const TensorArg& start, const TensorArg& delta) {
    const int64_t first = range_operand_int(start.dtype, start.data);
    const int64_t step = range_operand_int(delta.dtype, delta.data);
    const int64_t count = y.shape.element_count();
    for (int64_t i = 0; i < count; ++i) {
        y.as<T>()[i] = T(uint64_t(first) + uint64_t(i) * uint64_t(step));
    }
}

void store_float(const TensorArg& y, int64_t i, double value) {
    switch (y.dtype) {
        case DType::kFloat16:
            y.as<Float16>()[i] = to_float16(value);
            break;
        case DType::kBfloat16:
            y.as<BFloat16>()[i] = to_bfloat16(float(value));
            break;
        case DType::kFloat32:
            y.as<float>()[i] = float(value);
            break;
        default:
            y.as<double>()[i] = value;
    }
}

}  // namespace

Status constant_reference(const ReferenceArgs& args) {
    const NodeData& node = args.node;
    const TensorArg& y = args.outputs[0];
    if (const Tensor* value = node.tensor("value")) {
        copy_elements(y.dtype, value->bytes(), 0, y.data, 0, y.shape.element_count());
    } else if (node.has_attr("value_float")) {
        *y.as<float>() = node.attr("value_float", 0.0F);
    } else if (node.has_attr("value_int")) {
        *y.as<int64_t>() = node.attr("value_int", int64_t{0});
    } else if (node.has_attr("value_string")) {
        *y.as<std::string>() = node.attr("value_string", "");
    } else if (const auto* floats = node.floats("value_floats")) {
        std::copy(floats->begin(), floats->end(), y.as<float>());
    } else if (const auto* ints = node.ints("value_ints")) {
        std::copy(ints->begin(), ints->end(), y.as<int64_t>());
    } else if (const auto* strings = node.strings("value_strings")) {
        std::copy(strings->begin(), strings->end(), y.as<std::string>());
    }
    return {};
}

Status constant_of_shape_reference(const ReferenceArgs& args) {
    const TensorArg& y = args.outputs[0];
    const Tensor* value = args.node.tensor("value");
    if (value == nullptr) {
        std::fill_n(y.as<float>(), y.shape.element_count(), 0.0F);
        return {};
    }
    // The attribute may be unaligned, so its element is copied as bytes. All strides of the source
    // are zero.
    const StridedPlace source{const_cast<std::byte*>(value->bytes()), 0, {}};
    if (value->is_aligned()) {
        copy_strided_plain(y.dtype, y.shape, source, {y.data, 0, row_major_strides(y.shape)});
        return {};
    }
    const int64_t count = y.shape.element_count();
    for (int64_t i = 0; i < count; ++i) {
        copy_elements(y.dtype, source.data, 0, y.data, i, 1);
    }
    return {};
}

Status range_reference(const ReferenceArgs& args) {
    const TensorArg& y = args.outputs[0];
    const TensorArg& start = args.inputs[0];
    const TensorArg& delta = args.inputs[2];
    switch (y.dtype) {
        case DType::kInt16:
            fill_range<int16_t>(y, start, delta);
            return {};
        case DType::kInt32:
            fill_range<int32_t>(y, start, delta);
            return {};
        case DType::kInt64:
            fill_range<int64_t>(y, start, delta);
            return {};
        default:
            break;
    }
    const double first = range_operand_float(start.dtype, start.data);
    const double step = range_operand_float(delta.dtype, delta.data);
    const int64_t count = y.shape.element_count();
    for (int64_t i = 0; i < count; ++i) {
        store_float(y, i, first + double(i) * step);
    }
    return {};
}

}  // namespace leat
