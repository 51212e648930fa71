#include "ops/variadic/variadic.h"

#include "base/transformed.h"
#include "ops/elementwise/element_access.h"
#include "ops/elementwise/elementwise.h"
#include "ops/shard_rules.h"

namespace leat {
namespace {

template <DTypeSet kTypes>
Status infer_variadic(InferContext& context) {
    LEAT_RETURN_IF_ERROR(require_all_inputs(context));
    LEAT_RETURN_IF_ERROR(require_dtype(context, 0, kTypes, "0"));
    for (int i = 1; i < context.input_count(); ++i) {
        LEAT_RETURN_IF_ERROR(require_same_dtype(context, 0, i));
    }
    return infer_broadcast(context, context.input(0).dtype);
}

struct Row {
    std::string_view name;
    Status (*infer)(InferContext& context);
};
constexpr Row kVariadicTable[] = {
    {"Max", infer_variadic<kNumericTypes>},
    {"Mean", infer_variadic<kFloatTypes>},
    {"Min", infer_variadic<kNumericTypes>},
    {"Sum", infer_variadic<kFloatTypes>},
};

Cost variadic_cost(const NodeData& /*node*/,
                   std::span<const TensorArg> inputs,
                   std::span<const TensorArg> outputs) {
    return elementwise_cost(double(inputs.size()), inputs, outputs);
}

}  // namespace

Status variadic_reference(const ReferenceArgs& args);

std::span<const OpDef> variadic_ops() {
    static const std::vector<OpDef> kOps = transformed(kVariadicTable, [](const Row& row) {
        return OpDef{.name = row.name,
                     .max_inputs = -1,
                     .infer = row.infer,
                     .reference = variadic_reference,
                     .cost = variadic_cost,
                     .in_place_inputs = 3,
                     .gives_rows = rows_by_broadcasting,
                     .layout_rule = LayoutRule::kAgnostic};
    });
    return kOps;
}

}  // namespace leat
