#include "ops/quantize/quantize.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "base/round_up.h"
#include "ops/movement/extents.h"
#include "ops/shard_rules.h"

namespace leat {
namespace {

constexpr DTypeSet kRealInputs =
    dtype_set(DType::kFloat16, DType::kBfloat16, DType::kFloat32, DType::kInt32);
constexpr DTypeSet kRealResults = dtype_set(DType::kFloat16, DType::kBfloat16, DType::kFloat32);
constexpr DTypeSet kScaleTypes = kRealResults | dtype_bit(DType::kFloat8E8M0);

// Attribute `key` as a type, `fallback` where it is absent or 0.
Result<DType> type_attribute(const NodeData& node,
                             std::string_view key,
                             DTypeSet allowed,
                             DType fallback) {
    const int64_t value = node.attr(key, int64_t{0});
    if (value == 0) {
        return fallback;
    }
    if (value < 0 || value >= kDTypeCount || !contains(allowed, DType(value))) {
        return invalid_argument("attribute '{}' is no type that {} can give", key, node.op_type)
            .with_found(value > 0 && value < kDTypeCount ? std::string(name_of(DType(value)))
                                                         : std::to_string(value))
            .with_needed("the number of another element type");
    }
    return DType(value);
}

Status bad_scale(const TypeInfo& x, const TypeInfo& scale, int64_t axis, std::string needed) {
    return invalid_argument("the scale does not fit the input")
        .with_found(fmt::format("the scale is {}, the input is {}, axis {}", scale.to_string(),
                                x.to_string(), axis))
        .with_needed(std::move(needed));
}

Status check_blocks(const TypeInfo& x, const TypeInfo& scale, int axis, int64_t block) {
    if (scale.rank() != x.rank()) {
        return bad_scale(x, scale, axis, fmt::format("rank {}, as the input", x.rank()));
    }
    for (int i = 0; i < x.rank(); ++i) {
        const DimSpec& from = (*x.dims)[size_t(i)];
        const DimSpec& to = (*scale.dims)[size_t(i)];
        if (!from.is_fixed() || !to.is_fixed()) {
            continue;
        }
        const int64_t wanted = i == axis ? divide_up(from.extent(), block) : from.extent();
        if (to.extent() != wanted) {
            return bad_scale(x, scale, axis,
                             fmt::format("{} scales along axis {} for blocks of {}", wanted, i,
                                         i == axis ? block : 1));
        }
    }
    return {};
}

// The shape of the scale against x and the attributes; what is unknown passes.
Status check_scale_shape(const NodeData& node, const TypeInfo& x, const TypeInfo& scale) {
    const int64_t block = node.attr("block_size", int64_t{0});
    const int64_t declared = node.attr("axis", int64_t{1});
    if (block < 0) {
        return invalid_argument("attribute 'block_size' must not be negative")
            .with_found(std::to_string(block))
            .with_needed("0 or more");
    }
    if (!scale.dims || (may_have_one_element(scale) && block == 0) || !x.dims) {
        return {};
    }
    LEAT_ASSIGN_OR_RETURN(const int axis, normalize_axis(declared, x.rank()));
    if (block > 0) {
        return check_blocks(x, scale, axis, block);
    }
    if (scale.rank() != 1) {
        return bad_scale(x, scale, declared, "a scalar, rank 1, or attribute 'block_size'");
    }
    const DimSpec& extent = (*x.dims)[size_t(axis)];
    const DimSpec& length = scale.dims->front();
    if (extent.is_fixed() && length.is_fixed() && extent.extent() != length.extent()) {
        return bad_scale(x, scale, declared, fmt::format("1 or {} scales", extent.extent()));
    }
    return {};
}

// The zero point, input 2, has the scale's shape; a scalar and one element are the same.
Status check_zero_shape(const InferContext& context) {
    if (!context.has_input(2) || !context.input(1).dims || !context.input(2).dims) {
        return {};
    }
    const TypeInfo& scale = context.input(1);
    const TypeInfo& zero = context.input(2);
    if (may_have_one_element(scale) && may_have_one_element(zero)) {
        return {};
    }
    bool fits = scale.rank() == zero.rank();
    for (size_t i = 0; fits && i < scale.dims->size(); ++i) {
        const DimSpec& a = (*scale.dims)[i];
        const DimSpec& b = (*zero.dims)[i];
        fits = !a.is_fixed() || !b.is_fixed() || a.extent() == b.extent();
    }
    return fits ? Status()
                : invalid_argument("the zero point must have the shape of the scale")
                      .with_found(zero.to_string())
                      .with_needed(scale.to_string());
}

Status infer_quantize_linear(InferContext& context) {
    LEAT_RETURN_IF_ERROR(require_dtype(context, 0, kRealInputs, "x"));
    LEAT_RETURN_IF_ERROR(require_dtype(context, 1, kScaleTypes, "y_scale"));
    LEAT_RETURN_IF_ERROR(require_dtype(context, 2, kQuantizedTypes, "y_zero_point"));
    LEAT_RETURN_IF_ERROR(check_scale_shape(context.node(), context.input(0), context.input(1)));
    LEAT_RETURN_IF_ERROR(check_zero_shape(context));
    LEAT_RETURN_IF_ERROR(
        type_attribute(context.node(), "precision", kFloatTypes, DType::kFloat32).error());
    LEAT_ASSIGN_OR_RETURN(DType to, type_attribute(context.node(), "output_dtype", kQuantizedTypes,
                                                   DType::kUndefined));
    if (context.has_input(2)) {
        const DType zero = context.input(2).dtype;
        if (to != DType::kUndefined && zero != DType::kUndefined && to != zero) {
            return invalid_argument("attribute 'output_dtype' and the zero point disagree")
                .with_found(fmt::format("{} and {}", name_of(to), name_of(zero)))
                .with_needed("one type");
        }
        to = zero;
    } else if (to == DType::kUndefined) {
        to = DType::kUint8;
    }
    TypeInfo type = context.input(0);
    type.dtype = to;
    context.set_output(0, std::move(type));
    return {};
}

Status infer_dequantize_linear(InferContext& context) {
    LEAT_RETURN_IF_ERROR(
        require_dtype(context, 0, kQuantizedTypes | dtype_bit(DType::kInt32), "x"));
    LEAT_RETURN_IF_ERROR(require_dtype(context, 1, kScaleTypes, "x_scale"));
    LEAT_RETURN_IF_ERROR(require_same_dtype(context, 0, 2));
    LEAT_RETURN_IF_ERROR(check_scale_shape(context.node(), context.input(0), context.input(1)));
    LEAT_RETURN_IF_ERROR(check_zero_shape(context));
    LEAT_ASSIGN_OR_RETURN(const DType to, type_attribute(context.node(), "output_dtype",
                                                         kRealResults, context.input(1).dtype));
    if (to == DType::kFloat8E8M0) {
        return invalid_argument("the type of the result is not known")
            .with_found("a scale of type e8m0 and no attribute 'output_dtype'")
            .with_needed("attribute 'output_dtype'");
    }
    TypeInfo type = context.input(0);
    type.dtype = to;
    context.set_output(0, std::move(type));
    return {};
}

Status infer_dynamic_quantize_linear(InferContext& context) {
    LEAT_RETURN_IF_ERROR(require_dtype(context, 0, dtype_bit(DType::kFloat32), "x"));
    TypeInfo type = context.input(0);
    type.dtype = DType::kUint8;
    context.set_output(0, std::move(type));
    const std::vector<DimSpec> scalar;
    context.set_output(1, DType::kFloat32, scalar);
    context.set_output(2, DType::kUint8, scalar);
    return {};
}

// Elements with scales of their own: not where the rows have different ones.
bool quantize_gives_rows(const ShardArgs& args) {
    const Result<ScaleGrid> grid =
        ScaleGrid::make(args.node, args.inputs[0].shape, args.inputs[1].shape);
    const bool is_free = grid.ok() && (grid->kind == ScaleGrid::Kind::kTensor ||
                                       (grid->kind == ScaleGrid::Kind::kAxis && grid->axis != 0));
    return is_free && rows_of_first_input(args);
}

constexpr AttributeSchema kQuantizeLinearAttributes[] = {
    {.name = "axis", .kind = AttributeKind::kInt, .since = 13},
    {.name = "block_size", .kind = AttributeKind::kInt, .since = 21},
    {.name = "output_dtype", .kind = AttributeKind::kInt, .since = 21},
    {.name = "precision", .kind = AttributeKind::kInt, .since = 23},
    {.name = "saturate", .kind = AttributeKind::kInt, .since = 19},
};

constexpr AttributeSchema kDequantizeLinearAttributes[] = {
    {.name = "axis", .kind = AttributeKind::kInt, .since = 13},
    {.name = "block_size", .kind = AttributeKind::kInt, .since = 21},
    {.name = "output_dtype", .kind = AttributeKind::kInt, .since = 23},
};

constexpr OpDef kQuantizeOps[] = {
    {.name = "QuantizeLinear",
     .min_inputs = 2,
     .max_inputs = 3,
     .attributes = kQuantizeLinearAttributes,
     .infer = infer_quantize_linear,
     .reference = quantize_linear_reference,
     .cost = cost_by_element<4>,
     .gives_rows = quantize_gives_rows,
     .layout_rule = LayoutRule::kAgnostic},
    {.name = "DequantizeLinear",
     .min_inputs = 2,
     .max_inputs = 3,
     .attributes = kDequantizeLinearAttributes,
     .infer = infer_dequantize_linear,
     .reference = dequantize_linear_reference,
     .cost = cost_by_element<4>,
     .gives_rows = quantize_gives_rows,
     .layout_rule = LayoutRule::kAgnostic},
    {.name = "DynamicQuantizeLinear",
     .min_outputs = 3,
     .max_outputs = 3,
     .named_outputs = 0b111,
     .infer = infer_dynamic_quantize_linear,
     .reference = dynamic_quantize_linear_reference,
     .cost = cost_by_element<4>},
};

}  // namespace

Result<ScaleGrid> ScaleGrid::make(const NodeData& node, const Shape& x, const Shape& scale) {
    ScaleGrid grid;
    const int64_t block = node.attr("block_size", int64_t{0});
    if (block == 0 && scale.element_count() == 1 && scale.rank() <= 1) {
        return grid;
    }
    LEAT_ASSIGN_OR_RETURN(grid.axis, axis_of(node, x.rank(), 1));
    grid.kind = block > 0 ? Kind::kBlocks : Kind::kAxis;
    grid.extent = std::max<int64_t>(x[grid.axis], 1);
    grid.inner = std::max<int64_t>(x.element_count(grid.axis + 1, x.rank()), 1);
    grid.block = std::max<int64_t>(block, 1);
    grid.blocks = divide_up(grid.extent, grid.block);
    return grid;
}

DType quotient_type(const NodeData& node, DType scale) {
    const int64_t precision = node.attr("precision", int64_t{0});
    if (precision != 0) {
        return DType(precision);
    }
    return scale == DType::kFloat8E8M0 ? DType::kFloat32 : scale;
}

DynamicScale dynamic_scale(float lowest, float highest) {
    constexpr float kSteps = 255.0F;
    const float scale = lowest == highest ? 1.0F : (highest - lowest) / kSteps;
    const float zero = 0.0F - lowest / scale;
    // NaN, from infinite ranges, becomes 0.
    const float limited = zero > 0.0F ? std::min(zero, kSteps) : 0.0F;
    return {scale, uint8_t(std::nearbyint(limited))};
}

void store_dynamic_scale(DynamicScale scale, std::span<const TensorArg> outputs) {
    if (const TensorArg* to = find_arg(outputs, 1)) {
        *to->as<float>() = scale.scale;
    }
    if (const TensorArg* to = find_arg(outputs, 2)) {
        *to->as<uint8_t>() = scale.zero;
    }
}

std::span<const OpDef> quantize_ops() {
    return kQuantizeOps;
}

}  // namespace leat
