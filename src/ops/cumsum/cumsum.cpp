#include "ops/cumsum/cumsum.h"

#include "ops/elementwise/element_access.h"
#include "ops/movement/extents.h"
#include "ops/shard_rules.h"
#include "ops/slice/slice.h"

namespace leat {
namespace {

Status infer_cumsum(InferContext& context) {
    LEAT_RETURN_IF_ERROR(require_dtype(context, 0, kFloatTypes | kWideIntTypes, "x"));
    LEAT_RETURN_IF_ERROR(check_index_type(context, 1, "axis"));
    if (!may_have_one_element(context.input(1))) {
        return invalid_argument("axis must have one element")
            .with_found(context.input(1).to_string());
    }
    const auto axis = context.ints(1);
    if (axis && context.input(0).dims) {
        LEAT_RETURN_IF_ERROR(normalize_axis((*axis)[0], context.input(0).rank()).error());
    }
    context.set_output(0, context.input(0));
    return {};
}

bool cumsum_gives_rows(const ShardArgs& args) {
    if (!rows_of_first_input(args) || !is_absent_or_known(args, 1)) {
        return false;
    }
    const Result<int> axis =
        normalize_axis(read_ints(args.inputs[1])[0], args.inputs[0].shape.rank());
    return axis.ok() && *axis != 0;
}

constexpr AttributeSchema kCumsumAttributes[] = {
    {.name = "exclusive", .kind = AttributeKind::kInt},
    {.name = "reverse", .kind = AttributeKind::kInt},
};

constexpr OpDef kCumsumOps[] = {
    {.name = "CumSum",
     .min_inputs = 2,
     .max_inputs = 2,
     .attributes = kCumsumAttributes,
     .infer = infer_cumsum,
     .reference = cumsum_reference,
     .gives_rows = cumsum_gives_rows},
    {.name = "CumProd",
     .min_inputs = 2,
     .max_inputs = 2,
     .attributes = kCumsumAttributes,
     .infer = infer_cumsum,
     .reference = cumsum_reference,
     .gives_rows = cumsum_gives_rows},
};

}  // namespace

std::span<const OpDef> cumsum_ops() {
    return kCumsumOps;
}

}  // namespace leat
