#include "ops/onehot/onehot.h"

#include <cmath>

#include "ops/elementwise/element_access.h"
#include "ops/movement/extents.h"
#include "ops/shard_rules.h"

namespace leat {
namespace {

constexpr double kMostDepth = 0x1p53;  // doubles tell whole numbers apart up to here

Result<DimSpec> depth_of(const InferContext& context) {
    const Tensor* const value = context.value(1);
    if (value == nullptr) {
        const auto extents = context.extents(1);
        return extents && extents->size() == 1 ? (*extents)[0] : DimSpec::unknown();
    }
    const double depth = std::trunc(load_real(value->dtype(), value->bytes(), 0));
    if (!(depth >= 0 && depth <= kMostDepth)) {
        return invalid_argument("depth is no extent")
            .with_found(fmt::format("{}", depth))
            .with_needed("a number >= 0");
    }
    return DimSpec(int64_t(depth));
}

Status infer_onehot(InferContext& context) {
    LEAT_RETURN_IF_ERROR(require_dtype(context, 0, kNumericTypes, "indices"));
    LEAT_RETURN_IF_ERROR(require_dtype(context, 1, kNumericTypes, "depth"));
    if (!may_have_one_element(context.input(1))) {
        return invalid_argument("depth must have one element")
            .with_found(context.input(1).to_string());
    }
    const TypeInfo& values = context.input(2);
    const int64_t count = known_length(values);
    if ((values.dims && values.rank() != 1) || (count >= 0 && count != 2)) {
        return invalid_argument("values must be what is off and what is on")
            .with_found(values.to_string())
            .with_needed("rank 1, 2 elements");
    }
    LEAT_ASSIGN_OR_RETURN(DimSpec depth, depth_of(context));
    std::optional<Dims> dims = context.input(0).dims;
    if (dims) {
        LEAT_RETURN_IF_ERROR(check_output_rank(int64_t(dims->size()) + 1));
        LEAT_ASSIGN_OR_RETURN(const int axis, axis_of(context.node(), int(dims->size()) + 1, -1));
        dims->insert(dims->begin() + axis, std::move(depth));
    }
    context.set_output(0, values.dtype, std::move(dims));
    return {};
}

bool onehot_gives_rows(const ShardArgs& args) {
    const Result<int> axis = axis_of(args.node, args.outputs[0].shape.rank(), -1);
    return axis.ok() && *axis != 0 && args.parts[0] == ShardPart::kRows &&
           args.parts[1] != ShardPart::kRows && args.parts[2] == ShardPart::kWhole;
}

constexpr AttributeSchema kOnehotAttributes[] = {
    {.name = "axis", .kind = AttributeKind::kInt},
};

constexpr OpDef kOnehotOps[] = {
    {.name = "OneHot",
     .min_inputs = 3,
     .max_inputs = 3,
     .attributes = kOnehotAttributes,
     .infer = infer_onehot,
     .reference = onehot_reference,
     .shape_inputs = 0b10,
     .gives_rows = onehot_gives_rows},
};

}  // namespace

Result<AxisSplit> onehot_loop(const NodeData& node, const Shape& y) {
    return AxisSplit::of(node, y, -1);
}

std::span<const OpDef> onehot_ops() {
    return kOnehotOps;
}

}  // namespace leat
