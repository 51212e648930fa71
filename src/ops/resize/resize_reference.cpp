#include <cmath>

#include "ops/elementwise/element_access.h"
#include "ops/movement/movement.h"
#include "ops/resize/resize.h"
#include "ops/slice/slice.h"

namespace leat {
namespace {

// Null, too, where the operand has no elements: older models leave it out like that.
const TensorArg* find_given(std::span<const TensorArg> inputs, int i) {
    const TensorArg* operand = find_arg(inputs, i);
    return operand != nullptr && operand->shape.element_count() > 0 ? operand : nullptr;
}

// Taps of every axis; axes that stay have none.
using AllTaps = std::vector<std::optional<ResizeTaps>>;

// y[k] += weight * x[k], k in [0, n).
void add_scaled(double weight, const double* x, double* y, int64_t n) {
    for (int64_t k = 0; k < n; ++k) {
        y[k] += weight * x[k];
    }
}

// Resizes one axis of `values`, outer x extent x inner.
std::vector<double> resize_axis(const std::vector<double>& values,
                                int64_t inner,
                                const ResizeAxis& axis,
                                const ResizeTaps& taps) {
    const int64_t outer = int64_t(values.size()) / (axis.x_extent * inner);
    std::vector<double> result(size_t(outer * axis.y_extent * inner), 0.0);
    for (int64_t o = 0; o < outer; ++o) {
        for (int64_t i = 0; i < axis.y_extent; ++i) {
            double* row = result.data() + (o * axis.y_extent + i) * inner;
            for (int64_t t = i * taps.count; t < (i + 1) * taps.count; ++t) {
                const double* source =
                    values.data() + (o * axis.x_extent + taps.indices[size_t(t)]) * inner;
                add_scaled(taps.weights[size_t(t)], source, row, inner);
            }
        }
    }
    return result;
}

void interpolate(const TensorArg& x,
                 const TensorArg& y,
                 const std::vector<ResizeAxis>& axes,
                 const AllTaps& taps) {
    std::vector<double> values(size_t(x.shape.element_count()));
    for (size_t i = 0; i < values.size(); ++i) {
        values[i] = load_real(x.dtype, x.data, int64_t(i));
    }
    for (size_t axis = 0; axis < axes.size(); ++axis) {
        if (taps[axis]) {
            const int64_t inner = x.shape.element_count(int(axis) + 1, x.shape.rank());
            values = resize_axis(values, inner, axes[axis], *taps[axis]);
        }
    }
    const bool is_integer = !contains(kFloatTypes | kSmallFloatTypes, y.dtype);
    for (size_t i = 0; i < values.size(); ++i) {
        store_real(y.dtype, y.data, int64_t(i), is_integer ? std::nearbyint(values[i]) : values[i]);
    }
}

void pick_nearest(const TensorArg& x, const TensorArg& y, const AllTaps& taps) {
    StridedIndex write(y.shape, y.strides);
    const int64_t count = y.shape.element_count();
    for (int64_t i = 0; i < count; ++i) {
        int64_t offset = 0;
        for (size_t axis = 0; axis < taps.size(); ++axis) {
            const int64_t index = write.index(int(axis));
            offset += (taps[axis] ? taps[axis]->indices[size_t(index)] : index) * x.strides[axis];
        }
        copy_elements(x.dtype, x.data, offset, y.data, write.offset(), 1);
        write.advance();
    }
}

void extrapolate(const TensorArg& y, const AllTaps& taps, float value) {
    StridedIndex write(y.shape, y.strides);
    const int64_t count = y.shape.element_count();
    for (int64_t i = 0; i < count; ++i) {
        bool outside = false;
        for (size_t axis = 0; axis < taps.size(); ++axis) {
            outside = outside || (taps[axis] && !taps[axis]->extrapolated.empty() &&
                                  taps[axis]->extrapolated[size_t(write.index(int(axis)))] != 0);
        }
        if (outside) {
            store_real(y.dtype, y.data, write.offset(), value);
        }
        write.advance();
    }
}

}  // namespace

Result<std::vector<ResizeAxis>> resize_axes_of(const NodeData& node,
                                               std::span<const TensorArg> inputs) {
    std::vector<float> scales;
    std::vector<int64_t> sizes;
    std::vector<double> roi;
    ResizeOperands operands;
    if (const TensorArg* given = find_given(inputs, 2)) {
        scales.assign(given->as<float>(), given->as<float>() + given->shape.element_count());
        operands.scales = &scales;
    } else if (const TensorArg* given_sizes = find_given(inputs, 3)) {
        sizes = read_ints(*given_sizes);
        operands.sizes = &sizes;
    }
    const TensorArg* region = find_given(inputs, 1);
    if (region != nullptr &&
        node.attr("coordinate_transformation_mode", "half_pixel") == "tf_crop_and_resize") {
        for (int64_t i = 0; i < region->shape.element_count(); ++i) {
            roi.push_back(load_real(region->dtype, region->data, i));
        }
        operands.roi = &roi;
    }
    return resize_axes(node, inputs[0].shape.extents(), operands);
}

Status resize_reference(const ReferenceArgs& args) {
    const TensorArg& x = args.inputs[0];
    const TensorArg& y = args.outputs[0];
    LEAT_ASSIGN_OR_RETURN(const ResizeMode mode, resize_mode(args.node));
    LEAT_ASSIGN_OR_RETURN(const std::vector<ResizeAxis> axes,
                          resize_axes_of(args.node, args.inputs));
    if (y.shape.element_count() == 0) {
        return {};
    }
    AllTaps taps;
    for (const ResizeAxis& axis : axes) {
        taps.push_back(axis.is_identity()
                           ? std::nullopt
                           : std::optional<ResizeTaps>(resize_taps(args.node, mode, axis)));
    }
    if (mode == ResizeMode::kNearest) {
        pick_nearest(x, y, taps);
    } else {
        interpolate(x, y, axes, taps);
    }
    // Strings, complex numbers and the like have no extrapolation value.
    if (contains(kRealTypes, y.dtype)) {
        extrapolate(y, taps, args.node.attr("extrapolation_value", 0.0F));
    }
    return {};
}

}  // namespace leat
