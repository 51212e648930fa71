#include "ops/group_normalization/group_normalization.h"

#include "ops/elementwise/element_access.h"
#include "ops/shard_rules.h"
#include "ops/type_checks.h"

namespace leat {
namespace {

Status check_group_parameter(const InferContext& context, int i, std::string_view what) {
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

Status check_group_count(const InferContext& context) {
    const NodeData& node = context.node();
    const int64_t groups = node.attr("num_groups", int64_t{0});
    const TypeInfo& x = context.input(0);
    const int64_t channels = x.dims ? (*x.dims)[1].extent() : -1;
    if (groups < 1 || (channels >= 0 && channels % groups != 0)) {
        return invalid_argument("attribute 'num_groups' is no number of groups")
            .with_found(fmt::format("{} for input {}", groups, x.to_string()))
            .with_needed("a divisor of the number of channels");
    }
    const int64_t stash_number = node.attr("stash_type", int64_t{1});
    if (!contains(kFloatTypes, dtype_from_number(stash_number))) {
        return invalid_argument("attribute 'stash_type' is not a floating type")
            .with_found(fmt::format("{}", stash_number))
            .with_needed("1 (f32), 10 (f16), 11 (f64) or 16 (bf16)");
    }
    return {};
}

Status infer_group_normalization(InferContext& context) {
    LEAT_RETURN_IF_ERROR(require_dtype(context, 0, kFloatTypes, "X"));
    const TypeInfo& x = context.input(0);
    if (x.dims && x.rank() < 2) {
        return invalid_argument("X has no channels")
            .with_found(x.to_string())
            .with_needed("rank 2 or more: [n, c, ...]");
    }
    LEAT_RETURN_IF_ERROR(check_group_count(context));
    LEAT_RETURN_IF_ERROR(check_group_parameter(context, 1, "scale"));
    LEAT_RETURN_IF_ERROR(check_group_parameter(context, 2, "bias"));
    context.set_output(0, x);
    return {};
}

constexpr AttributeSchema kGroupNormalizationAttributes[] = {
    {.name = "epsilon", .kind = AttributeKind::kFloat},
    {.name = "num_groups", .kind = AttributeKind::kInt, .is_required = true},
    {.name = "stash_type", .kind = AttributeKind::kInt, .since = 21},
};

constexpr OpDef kGroupNormalizationOps[] = {
    {.name = "GroupNormalization",
     .min_inputs = 3,
     .max_inputs = 3,
     .attributes = kGroupNormalizationAttributes,
     .infer = infer_group_normalization,
     .reference = group_normalization_reference,
     .cost = cost_by_element<6>,
     .in_place_inputs = 1,
     .gives_rows = rows_of_first_input},
};

}  // namespace

std::span<const OpDef> group_normalization_ops() {
    return kGroupNormalizationOps;
}

}  // namespace leat
