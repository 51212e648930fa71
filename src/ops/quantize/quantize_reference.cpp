#include <array>
#include <cmath>
#include <limits>

#include "base/error.h"
#include "ops/quantize/quantize.h"

namespace leat {
namespace {

double rounded_to(DType dtype, double value) {
    alignas(double) std::array<std::byte, sizeof(double)> element{};
    store_real(dtype, element.data(), 0, value);
    return load_real(dtype, element.data(), 0);
}

constexpr DTypeSet kSmallReals = kQuantizedTypes & kSmallFloatTypes;

// A sum with it has the sign of the other summand, also of zero.
constexpr double kNoShift = -0.0;

// Element i of y from a quotient; zero: kNoShift where there is none.
void store_quantized(
    const TensorArg& y, int64_t i, double quotient, double zero, const NarrowOptions& options) {
    if (contains(kSmallReals, y.dtype)) {
        const double shift = contains(kPackedFloatTypes, y.dtype) ? zero : kNoShift;
        store_real(y.dtype, y.data, i, quotient + shift, options);
    } else {
        const bool is_nan = std::isnan(quotient);
        store_real(
            y.dtype, y.data, i,
            is_nan ? -std::numeric_limits<double>::infinity() : std::nearbyint(quotient) + zero);
    }
}

}  // namespace

Status quantize_linear_reference(const ReferenceArgs& args) {
    const TensorArg& x = args.inputs[0];
    const TensorArg& scale = args.inputs[1];
    const TensorArg& y = args.outputs[0];
    LEAT_ASSIGN_OR_RETURN(const ScaleGrid grid, ScaleGrid::make(args.node, x.shape, scale.shape));
    const DType precision = quotient_type(args.node, scale.dtype);
    NarrowOptions options;
    options.saturate = args.node.attr("saturate", int64_t{1}) != 0;
    const TensorArg* zeros = find_arg(args.inputs, 2);
    for (int64_t i = 0; i < y.shape.element_count(); ++i) {
        const int64_t k = grid.index(i);
        const double above = rounded_to(precision, load_real(x.dtype, x.data, i));
        const double below = rounded_to(precision, load_real(scale.dtype, scale.data, k));
        const double zero = zeros != nullptr ? load_real(y.dtype, zeros->data, k) : kNoShift;
        store_quantized(y, i, rounded_to(precision, above / below), zero, options);
    }
    return {};
}

Status dequantize_linear_reference(const ReferenceArgs& args) {
    const TensorArg& x = args.inputs[0];
    const TensorArg& scale = args.inputs[1];
    const TensorArg& y = args.outputs[0];
    LEAT_ASSIGN_OR_RETURN(const ScaleGrid grid, ScaleGrid::make(args.node, x.shape, scale.shape));
    const TensorArg* zeros = find_arg(args.inputs, 2);
    for (int64_t i = 0; i < y.shape.element_count(); ++i) {
        const int64_t k = grid.index(i);
        const double zero = zeros != nullptr ? load_real(x.dtype, zeros->data, k) : 0;
        // Both operands are exact in double, and so is their difference.
        const auto difference = float(load_real(x.dtype, x.data, i) - zero);
        const float factor = float(load_real(scale.dtype, scale.data, k));
        store_real(y.dtype, y.data, i, double(difference * factor));
    }
    return {};
}

Status dynamic_quantize_linear_reference(const ReferenceArgs& args) {
    const float* x = args.inputs[0].as<const float>();
    const TensorArg& y = args.outputs[0];
    const int64_t count = y.shape.element_count();
    float lowest = 0;
    float highest = 0;
    for (int64_t i = 0; i < count; ++i) {
        lowest = x[i] < lowest ? x[i] : lowest;
        highest = x[i] > highest ? x[i] : highest;
    }
    const DynamicScale dynamic = dynamic_scale(lowest, highest);
    for (int64_t i = 0; i < count; ++i) {
        store_quantized(y, i, double(x[i] / dynamic.scale), double(dynamic.zero), {});
    }
    store_dynamic_scale(dynamic, args.outputs);
    return {};
}

}  // namespace leat
