#include "ops/softmax/softmax.h"

#include <array>

#include "ops/shard_rules.h"
#include "ops/type_checks.h"

namespace leat {

Status softmax_reference(const ReferenceArgs& args);

namespace {

Status infer_softmax(InferContext& context) {
    LEAT_RETURN_IF_ERROR(require_dtype(context, 0, kFloatTypes, "input"));
    const TypeInfo& x = context.input(0);
    if (x.dims) {
        LEAT_RETURN_IF_ERROR(
            normalize_axis(context.node().attr("axis", int64_t{-1}), x.rank()).error());
    }
    context.set_output(0, x);
    return {};
}

Cost softmax_cost(const NodeData& /*node*/,
                  std::span<const TensorArg> inputs,
                  std::span<const TensorArg> outputs) {
    // exp counts as 10, the maximum, the sum and the division as one each.
    return {13.0 * double(inputs[0].shape.element_count()), moved_bytes(inputs, outputs)};
}

constexpr AttributeSchema kSoftmaxAttributes[] = {
    {.name = "axis", .kind = AttributeKind::kInt},
};

}  // namespace

std::span<const OpDef> softmax_ops() {
    static const std::array<OpDef, 3> kOps = [] {
        std::array<OpDef, 3> table{};
        table[0].name = "Softmax";
        table[1].name = "LogSoftmax";
        table[2].name = "Hardmax";
        for (OpDef& op : table) {
            op.attributes = kSoftmaxAttributes;
            op.infer = infer_softmax;
            op.reference = softmax_reference;
            op.cost = softmax_cost;
            op.in_place_inputs = 1;
            op.type_rule = TypeRule::kFirst;
            op.gives_rows = rows_unless_along_axis_0<-1>;
        }
        return table;
    }();
    return kOps;
}

}  // namespace leat
