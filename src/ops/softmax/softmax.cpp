#include "ops/softmax/softmax.h"

#include "base/transformed.h"
#include "ops/shard_rules.h"
#include "ops/type_checks.h"

namespace leat {

Status softmax_reference(const ReferenceArgs& args);

namespace {

Status infer_softmax(InferContext& context) {
    LEAT_RETURN_IF_ERROR(require_dtype(context, 0, kFloatTypes, "input"));
    const TypeInfo& x = context.input(0);
    if (x.dims) {
        LEAT_RETURN_IF_ERROR(axis_of(context.node(), x.rank(), -1).error());
    }
    context.set_output(0, x);
    return {};
}

constexpr AttributeSchema kSoftmaxAttributes[] = {
    {.name = "axis", .kind = AttributeKind::kInt},
};

}  // namespace

std::span<const OpDef> softmax_ops() {
    constexpr std::string_view kNames[] = {"Softmax", "LogSoftmax", "Hardmax"};
    static const std::vector<OpDef> kOps = transformed(kNames, [](std::string_view name) {
        return OpDef{
            .name = name,
            .attributes = kSoftmaxAttributes,
            .infer = infer_softmax,
            .reference = softmax_reference,
            .cost = cost_by_element<13>,  // exp counts as 10; maximum, sum and division one each
            .in_place_inputs = 1,
            .gives_rows = rows_unless_along_axis_0<-1>,
            .type_rule = TypeRule::kFirst};
    });
    return kOps;
}

}  // namespace leat
