#include "ops/lrn/lrn.h"

#include "ops/shard_rules.h"
#include "ops/type_checks.h"

namespace leat {

Status lrn_reference(const ReferenceArgs& args);

namespace {

Status infer_lrn(InferContext& context) {
    LEAT_RETURN_IF_ERROR(require_dtype(context, 0, kFloatTypes, "X"));
    const TypeInfo& x = context.input(0);
    if (x.dims && x.rank() < 2) {
        return invalid_argument("input X has no channels")
            .with_found(x.to_string())
            .with_needed("rank 2 or more: [n, c, spatial...]");
    }
    const int64_t size = context.node().attr("size", int64_t{0});
    if (size < 1 || size > INT32_MAX) {
        return invalid_argument("attribute 'size' must be a positive number of channels")
            .with_found(fmt::format("{}", size))
            .with_needed("1 or more");
    }
    context.set_output(0, x);
    return {};
}

constexpr AttributeSchema kLrnAttributes[] = {
    {.name = "alpha", .kind = AttributeKind::kFloat},
    {.name = "beta", .kind = AttributeKind::kFloat},
    {.name = "bias", .kind = AttributeKind::kFloat},
    {.name = "size", .kind = AttributeKind::kInt, .is_required = true},
};

}  // namespace

std::span<const OpDef> lrn_ops() {
    static constexpr OpDef kOps[] = {
        {.name = "LRN",
         .attributes = kLrnAttributes,
         .infer = infer_lrn,
         .reference = lrn_reference,
         .cost = cost_by_element<12>,
         .gives_rows = rows_of_first_input,
         .layout_rule = LayoutRule::kChannelsLastPreferred},
    };
    return kOps;
}

}  // namespace leat
