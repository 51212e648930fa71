#include "ops/lp_normalization/lp_normalization.h"

#include "ops/shard_rules.h"
#include "ops/type_checks.h"

namespace leat {
namespace {

Status infer_lp_normalization(InferContext& context) {
    LEAT_RETURN_IF_ERROR(require_dtype(context, 0, kFloatTypes, "input"));
    const TypeInfo& x = context.input(0);
    const int64_t p = context.node().attr("p", int64_t{2});
    if (p != 1 && p != 2) {
        return invalid_argument("attribute 'p' is no norm")
            .with_found(fmt::format("{}", p))
            .with_needed("1 or 2");
    }
    if (x.dims) {
        LEAT_RETURN_IF_ERROR(axis_of(context.node(), x.rank(), -1).error());
    }
    context.set_output(0, x);
    return {};
}

constexpr AttributeSchema kLpNormalizationAttributes[] = {
    {.name = "axis", .kind = AttributeKind::kInt},
    {.name = "p", .kind = AttributeKind::kInt},
};

constexpr OpDef kLpNormalizationOps[] = {
    {.name = "LpNormalization",
     .attributes = kLpNormalizationAttributes,
     .infer = infer_lp_normalization,
     .reference = lp_normalization_reference,
     .cost = cost_by_element<3>,
     .gives_rows = rows_unless_along_axis_0<-1>,
     .type_rule = TypeRule::kFirst},
};

}  // namespace

std::span<const OpDef> lp_normalization_ops() {
    return kLpNormalizationOps;
}

}  // namespace leat
