#include "ops/rms_normalization/rms_normalization.h"

#include "ops/elementwise/element_access.h"
#include "ops/shard_rules.h"
#include "ops/type_checks.h"

namespace leat {
namespace {

// False if the scale is known not to broadcast to x.
bool may_scale_rms(const std::vector<DimSpec>& scale, const std::vector<DimSpec>& x) {
    bool fits = scale.size() <= x.size();
    for (size_t k = 1; fits && k <= scale.size(); ++k) {
        const DimSpec& from = scale[scale.size() - k];
        const DimSpec& to = x[x.size() - k];
        fits = from.extent() == 1 || !from.is_fixed() || !to.is_fixed() ||
               from.extent() == to.extent();
    }
    return fits;
}

Status infer_rms_normalization(InferContext& context) {
    LEAT_RETURN_IF_ERROR(require_dtype(context, 0, kFloatTypes, "X"));
    LEAT_RETURN_IF_ERROR(require_dtype(context, 1, kFloatTypes, "scale"));
    const TypeInfo& x = context.input(0);
    const TypeInfo& scale = context.input(1);
    const int64_t stash_number = context.node().attr("stash_type", int64_t{1});
    const DType stash = dtype_from_number(stash_number);
    if (!contains(kFloatTypes, stash)) {
        return invalid_argument("attribute 'stash_type' is not a floating type")
            .with_found(fmt::format("{}", stash_number))
            .with_needed("1 (f32), 10 (f16), 11 (f64) or 16 (bf16)");
    }
    if (x.dims) {
        LEAT_RETURN_IF_ERROR(axis_of(context.node(), x.rank(), -1).error());
    }
    if (x.dims && scale.dims && !may_scale_rms(*scale.dims, *x.dims)) {
        return invalid_argument("scale must broadcast to X")
            .with_found(fmt::format("{} for X {}", scale.to_string(), x.to_string()))
            .with_needed("extents of X, or 1, from the last axis on");
    }
    context.set_output(0, scale.dtype, x.dims);
    return {};
}

// A scale with rows of its own is no: a part of one row may have another kernel than the whole.
bool rms_normalization_gives_rows(const ShardArgs& args) {
    const Result<int> axis = axis_of(args.node, args.inputs[0].shape.rank(), -1);
    return axis.ok() && *axis != 0 && args.parts[0] == ShardPart::kRows &&
           args.parts[1] == ShardPart::kWhole &&
           broadcasts_to_rows(args.inputs[1], args.parts[1], args.outputs[0].shape);
}

constexpr AttributeSchema kRmsNormalizationAttributes[] = {
    {.name = "axis", .kind = AttributeKind::kInt},
    {.name = "epsilon", .kind = AttributeKind::kFloat},
    {.name = "stash_type", .kind = AttributeKind::kInt},
};

constexpr OpDef kRmsNormalizationOps[] = {
    {.name = "RMSNormalization",
     .min_inputs = 2,
     .max_inputs = 2,
     .attributes = kRmsNormalizationAttributes,
     .infer = infer_rms_normalization,
     .reference = rms_normalization_reference,
     .cost = cost_by_element<4>,
     .in_place_inputs = 1,
     .gives_rows = rms_normalization_gives_rows},
};

}  // namespace

Result<RmsNormalizationGeometry> RmsNormalizationGeometry::make(const NodeData& node,
                                                                const Shape& x) {
    LEAT_ASSIGN_OR_RETURN(const int axis, axis_of(node, x.rank(), -1));
    return RmsNormalizationGeometry{x.element_count(0, axis), x.element_count(axis, x.rank()),
                                    node.attr("epsilon", 1e-5F)};
}

std::span<const OpDef> rms_normalization_ops() {
    return kRmsNormalizationOps;
}

}  // namespace leat
