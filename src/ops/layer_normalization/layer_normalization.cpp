#include "ops/layer_normalization/layer_normalization.h"

#include "ops/shard_rules.h"
#include "ops/type_checks.h"

namespace leat {

Status layer_normalization_reference(const ReferenceArgs& args);

namespace {

// scale and bias must broadcast to the normalized axes of x, never widen them.
Status check_parameter(const InferContext& context, int i, std::string_view what, int axis) {
    LEAT_RETURN_IF_ERROR(require_dtype(context, i, kFloatTypes, what));
    LEAT_RETURN_IF_ERROR(require_same_dtype(context, 0, i));
    if (!context.has_input(i) || !context.input(i).dims) {
        return {};
    }
    const std::vector<DimSpec>& x = *context.input(0).dims;
    const std::vector<DimSpec>& parameter = *context.input(i).dims;
    bool fits = parameter.size() <= x.size();
    for (size_t k = 1; fits && k <= parameter.size(); ++k) {
        const DimSpec& from = parameter[parameter.size() - k];
        const DimSpec& to = x[x.size() - k];
        const bool inside = x.size() - k >= size_t(axis);
        const bool unequal = from.is_fixed() && to.is_fixed() && from.extent() != to.extent();
        fits = from.extent() == 1 || (inside && !unequal);
    }
    if (!fits) {
        return invalid_argument("input {} must broadcast to the normalized axes", what)
            .with_found(fmt::format("{} is {}, X is {}, axis {}", what,
                                    context.input(i).to_string(), context.input(0).to_string(),
                                    axis))
            .with_needed("the extents of X from the axis on, or 1");
    }
    return {};
}

Status infer_layer_normalization(InferContext& context) {
    LEAT_RETURN_IF_ERROR(require_dtype(context, 0, kFloatTypes, "X"));
    const TypeInfo& x = context.input(0);
    const int64_t stash_number = context.node().attr("stash_type", int64_t{1});
    const DType stash = dtype_from_number(stash_number);
    if (stash != DType::kFloat32 && stash != DType::kBfloat16 && stash != DType::kFloat16 &&
        stash != DType::kFloat64) {
        return invalid_argument("attribute 'stash_type' is not a floating type")
            .with_found(fmt::format("{}", stash_number))
            .with_needed("1 (f32), 10 (f16), 11 (f64) or 16 (bf16)");
    }
    context.set_output(0, x);
    std::optional<std::vector<DimSpec>> statistics;
    if (x.dims) {
        LEAT_ASSIGN_OR_RETURN(const int axis, axis_of(context.node(), x.rank(), -1));
        LEAT_RETURN_IF_ERROR(check_parameter(context, 1, "Scale", axis));
        LEAT_RETURN_IF_ERROR(check_parameter(context, 2, "B", axis));
        statistics = x.dims;
        for (size_t i = size_t(axis); i < statistics->size(); ++i) {
            (*statistics)[i] = DimSpec(int64_t{1});
        }
    }
    for (int i = 1; i < context.output_count(); ++i) {
        context.set_output(i, stash, statistics);
    }
    return {};
}

constexpr AttributeSchema kLayerNormalizationAttributes[] = {
    {.name = "axis", .kind = AttributeKind::kInt},
    {.name = "epsilon", .kind = AttributeKind::kFloat},
    {.name = "stash_type", .kind = AttributeKind::kInt},
};

}  // namespace

Result<LayerNormalizationGeometry> LayerNormalizationGeometry::make(const NodeData& node,
                                                                    const Shape& x) {
    LEAT_ASSIGN_OR_RETURN(const int axis, axis_of(node, x.rank(), -1));
    LayerNormalizationGeometry geometry;
    geometry.rows = x.element_count(0, axis);
    geometry.columns = x.element_count(axis, x.rank());
    geometry.epsilon = node.attr("epsilon", 1e-5F);
    return geometry;
}

std::span<const OpDef> layer_normalization_ops() {
    static constexpr OpDef kOps[] = {
        {.name = "LayerNormalization",
         .min_inputs = 2,
         .max_inputs = 3,
         .max_outputs = 3,
         .attributes = kLayerNormalizationAttributes,
         .infer = infer_layer_normalization,
         .reference = layer_normalization_reference,
         .cost = cost_by_element<8>,
         .in_place_inputs = 1,
         .gives_rows = rows_unless_along_axis_0<-1>,
         .type_rule = TypeRule::kFirst},
    };
    return kOps;
}

}  // namespace leat
