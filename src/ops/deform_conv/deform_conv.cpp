#include "ops/deform_conv/deform_conv.h"

#include "ops/movement/extents.h"
#include "ops/shard_rules.h"
#include "ops/type_checks.h"

namespace leat {
namespace {

constexpr int kDeformBias = 3;
constexpr int kDeformMask = 4;

Status check_deform_types(const InferContext& context) {
    LEAT_RETURN_IF_ERROR(require_dtype(context, 0, kFloatTypes, "X"));
    for (int i = 1; i <= kDeformMask; ++i) {
        if (context.has_input(i)) {
            LEAT_RETURN_IF_ERROR(require_same_dtype(context, 0, i));
        }
    }
    if (context.has_input(kDeformBias)) {
        LEAT_RETURN_IF_ERROR(require_rank(context, kDeformBias, 1, "B"));
        return check_conv_bias(context.input(kDeformBias), context.input(1));
    }
    return {};
}

Status check_offset_groups(const NodeData& node, const TypeInfo& x) {
    const int64_t groups = node.attr("offset_group", int64_t{1});
    if (groups < 1 || groups > INT32_MAX) {
        return invalid_argument("attribute 'offset_group' must be positive")
            .with_found(fmt::format("{}", groups))
            .with_needed("1 or more");
    }
    if (x.dims && (*x.dims)[1].is_fixed() && (*x.dims)[1].extent() % groups != 0) {
        return invalid_argument("the groups of offsets must divide the input channels")
            .with_found(fmt::format("X is {}, offset_group {}", x.to_string(), groups))
            .with_needed("a multiple of the groups");
    }
    return {};
}

// Offset or mask: `per_tap` elements for each tap of each group of offsets, at each position.
// Extents of y that are known from it are set.
Status check_deform_operand(
    const InferContext& context, int i, std::string_view what, int64_t per_tap, Dims& y) {
    const TypeInfo& type = context.input(i);
    const TypeInfo& w = context.input(1);
    if (!type.dims) {
        return {};
    }
    LEAT_RETURN_IF_ERROR(require_rank(context, i, int(y.size()), what));
    LEAT_ASSIGN_OR_RETURN(y[0], merge_dims(y[0], (*type.dims)[0], "the batch of the inputs"));
    for (size_t axis = 2; axis < y.size(); ++axis) {
        LEAT_ASSIGN_OR_RETURN(y[axis],
                              merge_dims(y[axis], (*type.dims)[axis],
                                         fmt::format("an extent of {} and of the result", what)));
    }
    DimSpec needed(context.node().attr("offset_group", int64_t{1}) * per_tap);
    for (size_t axis = 2; axis < y.size(); ++axis) {
        needed = multiply_dims(needed, w.dims ? (*w.dims)[axis] : DimSpec::unknown());
    }
    const DimSpec& found = (*type.dims)[1];
    if (needed.is_fixed() && found.is_fixed() && needed.extent() != found.extent()) {
        return invalid_argument("{} has the wrong number of channels", what)
            .with_found(type.to_string())
            .with_needed(fmt::format("{} channels, {} for each tap of each group of offsets",
                                     needed.extent(), per_tap));
    }
    return {};
}

Status infer_deform_conv(InferContext& context) {
    LEAT_RETURN_IF_ERROR(check_deform_types(context));
    const TypeInfo& x = context.input(0);
    const TypeInfo& w = context.input(1);
    LEAT_ASSIGN_OR_RETURN(auto dims, conv_dims(context.node(), x, w));
    if (!dims) {
        context.set_output(0, x.dtype, std::nullopt);
        return {};
    }
    if (int64_t(dims->size()) > 2 + kMaxSpatialRank) {
        return unsupported("X has too many spatial axes")
            .with_found(x.to_string())
            .with_needed(fmt::format("1 to {} of them", kMaxSpatialRank));
    }
    LEAT_RETURN_IF_ERROR(check_offset_groups(context.node(), x));
    const int64_t axes = int64_t(dims->size()) - 2;
    LEAT_RETURN_IF_ERROR(check_deform_operand(context, 2, "offset", axes, *dims));
    if (context.has_input(kDeformMask)) {
        LEAT_RETURN_IF_ERROR(check_deform_operand(context, kDeformMask, "mask", 1, *dims));
    }
    context.set_output(0, x.dtype, std::move(dims));
    return {};
}

// A product for each tap, and two for each of the elements around its place.
Cost deform_conv_cost(const NodeData& /*node*/,
                      std::span<const TensorArg> inputs,
                      std::span<const TensorArg> outputs) {
    const Shape& w = inputs[1].shape;
    const double positions = double(outputs[0].shape.element_count(2, outputs[0].shape.rank())) *
                             double(inputs[0].shape[0]);
    const double reads =
        positions * double(w.element_count(2, w.rank())) * double(inputs[0].shape[1]);
    const double around = double(int64_t{1} << (w.rank() - 2));
    return {conv_cost(inputs[1], inputs, outputs).flops + 4 * around * reads,
            moved_bytes(inputs, outputs)};
}

bool deform_conv_gives_rows(const ShardArgs& args) {
    for (size_t i = 0; i < args.parts.size(); ++i) {
        const bool is_by_image = i != 1 && i != size_t(kDeformBias);
        const ShardPart needed = is_by_image ? ShardPart::kRows : ShardPart::kWhole;
        if (find_arg(args.inputs, int(i)) != nullptr && args.parts[i] != needed) {
            return false;
        }
    }
    return true;
}

constexpr AttributeSchema kDeformConvAttributes[] = {
    {.name = "dilations", .kind = AttributeKind::kInts},
    {.name = "group", .kind = AttributeKind::kInt},
    {.name = "kernel_shape", .kind = AttributeKind::kInts},
    {.name = "offset_group", .kind = AttributeKind::kInt},
    {.name = "pads", .kind = AttributeKind::kInts},
    {.name = "strides", .kind = AttributeKind::kInts},
};

constexpr OpDef kDeformConvOps[] = {
    {.name = "DeformConv",
     .min_inputs = 3,
     .max_inputs = 5,
     .attributes = kDeformConvAttributes,
     .infer = infer_deform_conv,
     .reference = deform_conv_reference,
     .cost = deform_conv_cost,
     .gives_rows = deform_conv_gives_rows},
};

}  // namespace

std::span<const OpDef> deform_conv_ops() {
    return kDeformConvOps;
}

}  // namespace leat
