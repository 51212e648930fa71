#include "ops/conv_integer/conv_integer.h"

#include "ops/shard_rules.h"
#include "ops/type_checks.h"

namespace leat {
namespace {

Status check_integer_conv_types(const InferContext& context,
                                const QuantizedConvOperands& operands) {
    LEAT_RETURN_IF_ERROR(require_dtype(context, operands.x, kByteTypes, "X"));
    LEAT_RETURN_IF_ERROR(require_dtype(context, operands.w, kByteTypes, "W"));
    LEAT_RETURN_IF_ERROR(require_same_dtype(context, operands.x, operands.x_zero));
    LEAT_RETURN_IF_ERROR(require_same_dtype(context, operands.w, operands.w_zero));
    if (operands.y_zero < 0) {
        return {};
    }
    LEAT_RETURN_IF_ERROR(require_dtype(context, operands.y_zero, kByteTypes, "zero point of Y"));
    for (const int i : {operands.x_scale, operands.w_scale, operands.y_scale}) {
        LEAT_RETURN_IF_ERROR(require_dtype(context, i, dtype_bit(DType::kFloat32), "scale"));
    }
    LEAT_RETURN_IF_ERROR(require_dtype(context, operands.bias, dtype_bit(DType::kInt32), "bias"));
    return require_rank(context, operands.bias, 1, "bias");
}

// channels: null where the parameter must have one element.
Status check_parameter(const InferContext& context,
                       int i,
                       const DimSpec* channels,
                       const char* name) {
    if (i < 0 || !context.has_input(i) || !context.input(i).dims || context.input(i).rank() == 0) {
        return {};
    }
    const TypeInfo& type = context.input(i);
    const DimSpec& length = type.dims->front();
    const bool is_vector = type.rank() == 1;
    const bool fits =
        !length.is_fixed() || length.extent() == 1 ||
        (channels != nullptr && (!channels->is_fixed() || channels->extent() == length.extent()));
    if (is_vector && fits) {
        return {};
    }
    return invalid_argument("{} has the wrong shape", name)
        .with_found(type.to_string())
        .with_needed(channels == nullptr ? "one element"
                                         : "one element, or one for each output channel");
}

Status infer_quantized_conv(InferContext& context) {
    const auto operands = QuantizedConvOperands::of(context.node());
    LEAT_RETURN_IF_ERROR(check_integer_conv_types(context, operands));
    const TypeInfo& x = context.input(operands.x);
    const TypeInfo& w = context.input(operands.w);
    LEAT_ASSIGN_OR_RETURN(auto dims, conv_dims(context.node(), x, w));
    const DimSpec channels = w.dims ? w.dims->front() : DimSpec::unknown();
    LEAT_RETURN_IF_ERROR(check_parameter(context, operands.x_scale, nullptr, "the scale of X"));
    LEAT_RETURN_IF_ERROR(check_parameter(context, operands.x_zero, nullptr, "the zero point of X"));
    LEAT_RETURN_IF_ERROR(check_parameter(context, operands.w_scale, &channels, "the scale of W"));
    LEAT_RETURN_IF_ERROR(
        check_parameter(context, operands.w_zero, &channels, "the zero point of W"));
    LEAT_RETURN_IF_ERROR(check_parameter(context, operands.y_scale, nullptr, "the scale of Y"));
    LEAT_RETURN_IF_ERROR(check_parameter(context, operands.y_zero, nullptr, "the zero point of Y"));
    if (operands.bias >= 0 && context.has_input(operands.bias)) {
        LEAT_RETURN_IF_ERROR(check_conv_bias(context.input(operands.bias), w));
    }
    const DType y = operands.y_zero < 0 ? DType::kInt32 : context.input(operands.y_zero).dtype;
    context.set_output(0, y, std::move(dims));
    return {};
}

Cost quantized_conv_cost(const NodeData& node,
                         std::span<const TensorArg> inputs,
                         std::span<const TensorArg> outputs) {
    return conv_cost(inputs[size_t(QuantizedConvOperands::of(node).w)], inputs, outputs);
}

constexpr AttributeSchema kConvIntegerAttributes[] = {
    {.name = "auto_pad", .kind = AttributeKind::kString},
    {.name = "dilations", .kind = AttributeKind::kInts},
    {.name = "group", .kind = AttributeKind::kInt},
    {.name = "kernel_shape", .kind = AttributeKind::kInts},
    {.name = "pads", .kind = AttributeKind::kInts},
    {.name = "strides", .kind = AttributeKind::kInts},
};

constexpr OpDef kConvIntegerOps[] = {
    {.name = "ConvInteger",
     .min_inputs = 2,
     .max_inputs = 4,
     .attributes = kConvIntegerAttributes,
     .infer = infer_quantized_conv,
     .reference = conv_integer_reference,
     .cost = quantized_conv_cost,
     .gives_rows = rows_of_first_input},
    {.name = "QLinearConv",
     .min_inputs = 8,
     .max_inputs = 9,
     .attributes = kConvIntegerAttributes,
     .infer = infer_quantized_conv,
     .reference = conv_integer_reference,
     .cost = quantized_conv_cost,
     .gives_rows = rows_of_first_input},
};

}  // namespace

QuantizedConvOperands QuantizedConvOperands::of(const NodeData& node) {
    if (node.op_type == "ConvInteger") {
        return {};
    }
    return {0, 1, 2, 3, 4, 5, 6, 7, 8};
}

std::span<const OpDef> conv_integer_ops() {
    return kConvIntegerOps;
}

}  // namespace leat
