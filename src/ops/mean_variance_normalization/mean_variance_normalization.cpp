#include "ops/mean_variance_normalization/mean_variance_normalization.h"

#include "ops/movement/extents.h"
#include "ops/type_checks.h"

namespace leat {
namespace {

Status infer_mean_variance_normalization(InferContext& context) {
    LEAT_RETURN_IF_ERROR(require_dtype(context, 0, kFloatTypes, "X"));
    const TypeInfo& x = context.input(0);
    if (x.dims) {
        LEAT_RETURN_IF_ERROR(mean_variance_axes(context.node(), x.rank()).error());
    }
    context.set_output(0, x);
    return {};
}

bool mean_variance_gives_rows(const ShardArgs& args) {
    const Result<uint32_t> axes = mean_variance_axes(args.node, args.inputs[0].shape.rank());
    return axes.ok() && (*axes & 1U) == 0 && args.parts[0] == ShardPart::kRows;
}

constexpr AttributeSchema kMeanVarianceNormalizationAttributes[] = {
    {.name = "axes", .kind = AttributeKind::kInts},
};

constexpr OpDef kMeanVarianceNormalizationOps[] = {
    {.name = "MeanVarianceNormalization",
     .attributes = kMeanVarianceNormalizationAttributes,
     .infer = infer_mean_variance_normalization,
     .reference = mean_variance_normalization_reference,
     .cost = cost_by_element<6>,
     .gives_rows = mean_variance_gives_rows,
     .type_rule = TypeRule::kFirst},
};

}  // namespace

Result<uint32_t> mean_variance_axes(const NodeData& node, int rank) {
    const std::vector<int64_t>* given = node.ints("axes");
    LEAT_ASSIGN_OR_RETURN(
        const std::vector<int> axes,
        normalize_axes(given != nullptr ? *given : std::vector<int64_t>{0, 2, 3}, rank));
    uint32_t bits = 0;
    for (const int axis : axes) {
        bits |= 1U << unsigned(axis);
    }
    return axes.empty() ? (1U << unsigned(rank)) - 1 : bits;
}

std::span<const OpDef> mean_variance_normalization_ops() {
    return kMeanVarianceNormalizationOps;
}

}  // namespace leat
