#include "ops/arg_reduce/arg_reduce.h"

#include <array>

#include "ops/shard_rules.h"
#include "ops/type_checks.h"

namespace leat {

Status arg_reduce_reference(const ReferenceArgs& args);

namespace {

Status infer_arg_reduce(InferContext& context) {
    LEAT_RETURN_IF_ERROR(require_dtype(context, 0, kFloatTypes | kIntTypes, "data"));
    const TypeInfo& x = context.input(0);
    if (!x.dims) {
        context.set_output(0, DType::kInt64, std::nullopt);
        return {};
    }
    LEAT_ASSIGN_OR_RETURN(const int axis,
                          normalize_axis(context.node().attr("axis", int64_t{0}), x.rank()));
    std::vector<DimSpec> dims = *x.dims;
    const DimSpec& extent = dims[size_t(axis)];
    if (extent.is_fixed() && extent.extent() == 0) {
        return invalid_argument("axis {} is empty, so it has no extreme element", axis)
            .with_found(x.to_string())
            .with_needed("an extent of 1 or more");
    }
    if (context.node().attr("keepdims", int64_t{1}) != 0) {
        dims[size_t(axis)] = DimSpec(int64_t{1});
    } else {
        dims.erase(dims.begin() + axis);
    }
    context.set_output(0, DType::kInt64, std::move(dims));
    return {};
}

Cost arg_reduce_cost(const NodeData& /*node*/,
                     std::span<const TensorArg> inputs,
                     std::span<const TensorArg> outputs) {
    return {double(inputs[0].shape.element_count()), moved_bytes(inputs, outputs)};
}

constexpr AttributeSchema kArgReduceAttributes[] = {
    {.name = "axis", .kind = AttributeKind::kInt},
    {.name = "keepdims", .kind = AttributeKind::kInt},
    {.name = "select_last_index", .kind = AttributeKind::kInt, .since = 12},
};

}  // namespace

std::span<const OpDef> arg_reduce_ops() {
    static const std::array<OpDef, 2> kOps = [] {
        std::array<OpDef, 2> table{};
        table[0].name = "ArgMax";
        table[1].name = "ArgMin";
        for (OpDef& op : table) {
            op.attributes = kArgReduceAttributes;
            op.infer = infer_arg_reduce;
            op.reference = arg_reduce_reference;
            op.cost = arg_reduce_cost;
            op.gives_rows = rows_unless_along_axis_0<0>;
        }
        return table;
    }();
    return kOps;
}

}  // namespace leat
