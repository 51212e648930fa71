#include "ops/instance_normalization/instance_normalization.h"

#include "ops/shard_rules.h"
#include "ops/type_checks.h"

namespace leat {

Status instance_normalization_reference(const ReferenceArgs& args);

namespace {

Status check_parameter(const InferContext& context, int i, std::string_view what) {
    LEAT_RETURN_IF_ERROR(require_same_dtype(context, 0, i));
    LEAT_RETURN_IF_ERROR(require_rank(context, i, 1, what));
    const TypeInfo& x = context.input(0);
    const TypeInfo& parameter = context.input(i);
    if (!x.dims || !parameter.dims) {
        return {};
    }
    const DimSpec& channels = (*x.dims)[1];
    const DimSpec& found = parameter.dims->front();
    if (channels.is_fixed() && found.is_fixed() && channels.extent() != found.extent()) {
        return invalid_argument("input {} must have an element for each channel", what)
            .with_found(fmt::format("{} for input {}", parameter.to_string(), x.to_string()))
            .with_needed(fmt::format("{} elements", channels.extent()));
    }
    return {};
}

Status infer_instance_normalization(InferContext& context) {
    LEAT_RETURN_IF_ERROR(require_dtype(context, 0, kFloatTypes, "input"));
    const TypeInfo& x = context.input(0);
    if (x.dims && x.rank() < 3) {
        return invalid_argument("the input has no spatial axes")
            .with_found(x.to_string())
            .with_needed("rank 3 or more: [n, c, spatial...]");
    }
    LEAT_RETURN_IF_ERROR(check_parameter(context, 1, "scale"));
    LEAT_RETURN_IF_ERROR(check_parameter(context, 2, "B"));
    context.set_output(0, x);
    return {};
}

constexpr AttributeSchema kInstanceNormalizationAttributes[] = {
    {.name = "epsilon", .kind = AttributeKind::kFloat},
};

}  // namespace

std::span<const OpDef> instance_normalization_ops() {
    static constexpr OpDef kOps[] = {
        {.name = "InstanceNormalization",
         .min_inputs = 3,
         .max_inputs = 3,
         .attributes = kInstanceNormalizationAttributes,
         .infer = infer_instance_normalization,
         .reference = instance_normalization_reference,
         .cost = cost_by_element<6>,
         .in_place_inputs = 1,
         .gives_rows = rows_of_first_input,
         .layout_rule = LayoutRule::kChannelsLastPreferred},
    };
    return kOps;
}

}  // namespace leat
