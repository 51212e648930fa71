#include "ops/matmul_integer/matmul_integer.h"

#include <algorithm>
#include <array>
#include <vector>

#include "ops/elementwise/element_access.h"

namespace leat {
namespace {

constexpr DTypeSet kProductScaleTypes =
    dtype_set(DType::kFloat16, DType::kBfloat16, DType::kFloat32);

// Whether a parameter can be one for all, [count], or `rank` extents that are 1 or those of the
// operand but along the axis that is summed.
bool parameter_fits(const TypeInfo& parameter, const TypeInfo& operand, bool is_row) {
    if (!parameter.dims || !operand.dims || parameter.rank() == 0) {
        return true;
    }
    const std::vector<DimSpec>& dims = *parameter.dims;
    const std::vector<DimSpec>& own = *operand.dims;
    const auto same = [](const DimSpec& a, const DimSpec& b) {
        return !a.is_fixed() || !b.is_fixed() || a.extent() == b.extent() || a.extent() == 1;
    };
    const size_t from_last = is_row ? 2 : 1;  // where the operand has its rows or columns
    const DimSpec one(1);
    if (dims.size() == 1) {
        return same(dims[0], own.size() < 2 ? one : own[own.size() - from_last]);
    }
    if (dims.size() != own.size()) {
        return false;
    }
    for (size_t i = 0; i < dims.size(); ++i) {
        const bool is_summed = i + 3 - from_last == dims.size();
        if (!same(dims[i], is_summed ? one : own[i])) {
            return false;
        }
    }
    return true;
}

Status check_parameter(
    const InferContext& context, int i, const TypeInfo& operand, bool is_row, const char* name) {
    if (i < 0 || !context.has_input(i) || parameter_fits(context.input(i), operand, is_row)) {
        return {};
    }
    return invalid_argument("{} must have one element, or one for each {} of its matrix", name,
                            is_row ? "row" : "column")
        .with_found(fmt::format("{} for {}", context.input(i).to_string(), operand.to_string()))
        .with_needed(is_row ? "[], [m] or [.., m, 1]" : "[], [n] or [.., 1, n]");
}

Status check_integer_matmul_types(const InferContext& context, const QuantizedOperands& operands) {
    for (const int i : {operands.a, operands.b, operands.y_zero}) {
        if (i >= 0) {
            const char* name = i == operands.a ? "A" : i == operands.b ? "B" : "zero point of Y";
            LEAT_RETURN_IF_ERROR(require_dtype(context, i, kByteTypes, name));
        }
    }
    for (const int i : {operands.a_scale, operands.b_scale, operands.y_scale}) {
        if (i >= 0) {
            LEAT_RETURN_IF_ERROR(require_dtype(context, i, kProductScaleTypes, "scale"));
        }
    }
    LEAT_RETURN_IF_ERROR(require_same_dtype(context, operands.a, operands.a_zero));
    return require_same_dtype(context, operands.b, operands.b_zero);
}

Status infer_quantized_matmul(InferContext& context) {
    const auto operands = QuantizedOperands::of(context.node());
    LEAT_RETURN_IF_ERROR(check_integer_matmul_types(context, operands));
    const TypeInfo& a = context.input(operands.a);
    const TypeInfo& b = context.input(operands.b);
    LEAT_ASSIGN_OR_RETURN(auto dims, matmul_dims(a, b));
    LEAT_RETURN_IF_ERROR(check_parameter(context, operands.a_scale, a, true, "the scale of A"));
    LEAT_RETURN_IF_ERROR(check_parameter(context, operands.a_zero, a, true, "the zero point of A"));
    LEAT_RETURN_IF_ERROR(check_parameter(context, operands.b_scale, b, false, "the scale of B"));
    LEAT_RETURN_IF_ERROR(
        check_parameter(context, operands.b_zero, b, false, "the zero point of B"));
    const bool keeps_sums = operands.y_zero < 0;
    const TypeInfo y = TypeInfo::tensor(
        keeps_sums ? DType::kInt32 : context.input(operands.y_zero).dtype, std::move(dims));
    LEAT_RETURN_IF_ERROR(check_parameter(context, operands.y_scale, y, true, "the scale of Y"));
    LEAT_RETURN_IF_ERROR(check_parameter(context, operands.y_zero, y, true, "the zero point of Y"));
    context.set_output(0, y);
    return {};
}

// As MatMul, where all rows share scales and zero points.
bool quantized_matmul_gives_rows(const ShardArgs& args) {
    const auto operands = QuantizedOperands::of(args.node);
    for (size_t i = 0; i < args.inputs.size(); ++i) {
        if (int(i) == operands.a || int(i) == operands.b || !args.inputs[i].present()) {
            continue;
        }
        const bool is_columns = int(i) == operands.b_scale || int(i) == operands.b_zero;
        const bool is_shared = args.inputs[i].shape.element_count() == 1 ||
                               (is_columns && args.inputs[i].shape.rank() == 1);
        if (!is_shared || args.parts[i] != ShardPart::kWhole) {
            return false;
        }
    }
    const auto a = size_t(operands.a);
    const auto b = size_t(operands.b);
    const std::array<TensorArg, 2> inputs{args.inputs[a], args.inputs[b]};
    const std::array<ShardPart, 2> parts{args.parts[a], args.parts[b]};
    return matmul_gives_rows({args.node, inputs, args.outputs, parts});
}

constexpr OpDef kMatmulIntegerOps[] = {
    {.name = "MatMulInteger",
     .min_inputs = 2,
     .max_inputs = 4,
     .infer = infer_quantized_matmul,
     .reference = matmul_integer_reference,
     .cost = matmul_cost,
     .gives_rows = quantized_matmul_gives_rows},
    {.name = "QLinearMatMul",
     .min_inputs = 8,
     .max_inputs = 8,
     .infer = infer_quantized_matmul,
     .reference = matmul_integer_reference,
     .cost = matmul_cost,
     .gives_rows = quantized_matmul_gives_rows},
};

// Strides of [.., n] (rows: [.., m, 1]) along the batch axes of the result.
ParameterStrides parameters(const MatMulGeometry& geometry, const Shape& parameter, bool is_row) {
    ParameterStrides strides;
    if (parameter.rank() == 0) {
        return strides;
    }
    const int axis = parameter.rank() == 1 || !is_row ? parameter.rank() - 1 : parameter.rank() - 2;
    const int64_t own = parameter[axis];
    strides.stride = own == 1 ? 0 : 1;
    int64_t step = own;
    const int batch_axes = std::max(parameter.rank() - 2, 0);
    for (int i = batch_axes - 1; i >= 0; --i) {
        const int64_t extent = parameter[i];
        const int axis_of_batch = geometry.batch.rank() - batch_axes + i;
        strides.batch[size_t(axis_of_batch)] = extent == 1 ? 0 : step;
        step *= extent;
    }
    return strides;
}

}  // namespace

QuantizedOperands QuantizedOperands::of(const NodeData& node) {
    if (node.op_type == "MatMulInteger") {
        return {};
    }
    return {0, 1, 2, 3, 4, 5, 6, 7};
}

int64_t ParameterStrides::index(const MatMulGeometry& geometry, int64_t product, int64_t i) const {
    int64_t offset = i * stride;
    for (int axis = geometry.batch.rank() - 1; axis >= 0; --axis) {
        offset += product % geometry.batch[axis] * batch[size_t(axis)];
        product /= geometry.batch[axis];
    }
    return offset;
}

ParameterStrides row_parameters(const MatMulGeometry& geometry, const Shape& parameter) {
    return parameters(geometry, parameter, true);
}
ParameterStrides column_parameters(const MatMulGeometry& geometry, const Shape& parameter) {
    return parameters(geometry, parameter, false);
}

std::span<const OpDef> matmul_integer_ops() {
    return kMatmulIntegerOps;
}

}  // namespace leat
