#include "ops/arg_reduce/arg_reduce.h"

#include "base/transformed.h"
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
    LEAT_ASSIGN_OR_RETURN(const int axis, axis_of(context.node(), x.rank()));
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

constexpr AttributeSchema kArgReduceAttributes[] = {
    {.name = "axis", .kind = AttributeKind::kInt},
    {.name = "keepdims", .kind = AttributeKind::kInt},
    {.name = "select_last_index", .kind = AttributeKind::kInt, .since = 12},
};

}  // namespace

std::span<const OpDef> arg_reduce_ops() {
    constexpr std::string_view kNames[] = {"ArgMax", "ArgMin"};
    static const std::vector<OpDef> kOps = transformed(kNames, [](std::string_view name) {
        return OpDef{.name = name,
                     .attributes = kArgReduceAttributes,
                     .infer = infer_arg_reduce,
                     .reference = arg_reduce_reference,
                     .cost = cost_by_element<1>,
                     .gives_rows = rows_unless_along_axis_0<0>};
    });
    return kOps;
}

}  // namespace leat
