#include "ops/topk/topk.h"

#include "ops/movement/extents.h"
#include "ops/shard_rules.h"
#include "ops/type_checks.h"

namespace leat {
namespace {

// The extent of the results along the axis; `extent` is that of x.
Result<DimSpec> result_extent(const InferContext& context, const DimSpec& extent) {
    const auto values = context.ints(1);
    const auto extents = context.extents(1);
    if (values && (*values)[0] < 0) {
        return invalid_argument("k is negative")
            .with_found(fmt::format("{}", (*values)[0]))
            .with_needed(">= 0");
    }
    DimSpec k = extents ? (*extents)[0] : DimSpec::unknown();
    if (k.is_fixed() && extent.is_fixed() && k.extent() > extent.extent()) {
        return invalid_argument("k is larger than the extent of the axis")
            .with_found(fmt::format("k = {} of {}", k.extent(), context.input(0).to_string()))
            .with_needed(fmt::format("0 <= k <= {}", extent.extent()));
    }
    return k;
}

Status infer_topk(InferContext& context) {
    LEAT_RETURN_IF_ERROR(require_dtype(context, 0, kFloatTypes | kIntTypes, "X"));
    LEAT_RETURN_IF_ERROR(require_dtype(context, 1, dtype_bit(DType::kInt64), "k"));
    if (!may_have_one_element(context.input(1))) {
        return invalid_argument("k must have one element")
            .with_found(context.input(1).to_string())
            .with_needed("i64[1]");
    }
    const TypeInfo& x = context.input(0);
    std::optional<Dims> dims = x.dims;
    DimSpec unknown = DimSpec::unknown();
    int axis = 0;
    if (dims) {
        LEAT_ASSIGN_OR_RETURN(axis, axis_of(context.node(), x.rank(), -1));
    }
    LEAT_ASSIGN_OR_RETURN(DimSpec extent,
                          result_extent(context, dims ? (*dims)[size_t(axis)] : unknown));
    if (dims) {
        (*dims)[size_t(axis)] = std::move(extent);
    }
    context.set_output(0, x.dtype, dims);
    if (context.has_output(1)) {
        context.set_output(1, DType::kInt64, std::move(dims));
    }
    return {};
}

// k may be the shard's own: the results' extents say as much.
bool topk_gives_rows(const ShardArgs& args) {
    const Result<int> axis = axis_of(args.node, args.inputs[0].shape.rank(), -1);
    return axis.ok() && *axis != 0 && args.parts[0] == ShardPart::kRows &&
           args.parts[1] != ShardPart::kRows;
}

constexpr AttributeSchema kTopkAttributes[] = {
    {.name = "axis", .kind = AttributeKind::kInt},
    {.name = "k", .kind = AttributeKind::kInt, .before = 10, .is_required = true},
    {.name = "largest", .kind = AttributeKind::kInt, .since = 11},
    {.name = "sorted", .kind = AttributeKind::kInt, .since = 11},
};

constexpr OpDef kTopkOps[] = {
    {.name = "TopK",
     .min_inputs = 2,
     .max_inputs = 2,
     .min_outputs = 2,
     .max_outputs = 2,
     .named_outputs = 0b11,
     .attributes = kTopkAttributes,
     .infer = infer_topk,
     .reference = topk_reference,
     .cost = cost_by_element<2>,
     .shape_inputs = 0b10,
     .gives_rows = topk_gives_rows},
};

}  // namespace

std::span<const OpDef> topk_ops() {
    return kTopkOps;
}

}  // namespace leat
