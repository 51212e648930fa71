#include "ops/reduce/reduce.h"

#include <optional>

#include "base/find_named.h"
#include "base/transformed.h"
#include "ops/shard_rules.h"
#include "ops/slice/slice.h"
#include "ops/type_checks.h"

namespace leat {

Status reduce_reference(const ReferenceArgs& args);

namespace {

struct ReduceRow {
    std::string_view name;
    ReduceKind kind;
    DTypeSet types;
};
constexpr DTypeSet kReduceTypes = kFloatTypes | kWideIntTypes;
constexpr DTypeSet kOrderedTypes = kReduceTypes | kByteTypes | dtype_bit(DType::kBool);
constexpr ReduceRow kRows[] = {
    {"ReduceSum", ReduceKind::kSum, kReduceTypes},
    {"ReduceMean", ReduceKind::kMean, kReduceTypes},
    {"ReduceMax", ReduceKind::kMax, kOrderedTypes},
    {"ReduceMin", ReduceKind::kMin, kOrderedTypes},
    {"ReduceProd", ReduceKind::kProd, kReduceTypes},
    {"ReduceL1", ReduceKind::kL1, kReduceTypes},
    {"ReduceL2", ReduceKind::kL2, kReduceTypes},
    {"ReduceLogSum", ReduceKind::kLogSum, kReduceTypes},
    {"ReduceLogSumExp", ReduceKind::kLogSumExp, kReduceTypes},
    {"ReduceSumSquare", ReduceKind::kSumSquare, kReduceTypes},
};

const ReduceRow& row_of(std::string_view op_type) {
    return *find_named(kRows, op_type);
}

Status infer_reduce(InferContext& context) {
    const NodeData& node = context.node();
    LEAT_RETURN_IF_ERROR(require_dtype(context, 0, row_of(node.op_type).types, "data"));
    LEAT_RETURN_IF_ERROR(require_dtype(context, 1, dtype_bit(DType::kInt64), "axes"));
    const TypeInfo& x = context.input(0);
    if (!x.dims) {
        context.set_output(0, x.dtype, std::nullopt);
        return {};
    }
    const bool keep = node.attr("keepdims", int64_t{1}) != 0;
    std::optional<std::vector<int64_t>> axes;
    if (context.has_input(1)) {
        axes = context.ints(1);
        if (!axes) {  // known only when the graph runs
            std::optional<std::vector<DimSpec>> dims;
            if (keep) {
                dims.emplace(x.dims->size(), DimSpec::unknown());
            }
            context.set_output(0, x.dtype, std::move(dims));
            return {};
        }
    }
    LEAT_ASSIGN_OR_RETURN(const uint32_t reduced,
                          reduced_axes(node, axes ? &*axes : nullptr, x.rank()));
    std::vector<DimSpec> dims;
    for (size_t axis = 0; axis < x.dims->size(); ++axis) {
        if ((reduced >> axis & 1U) == 0) {
            dims.push_back((*x.dims)[axis]);
        } else if (keep) {
            dims.emplace_back(int64_t{1});
        }
    }
    context.set_output(0, x.dtype, std::move(dims));
    return {};
}

bool reduce_gives_rows(const ShardArgs& args) {
    if (!rows_of_first_input(args) || !is_absent_or_known(args, 1)) {
        return false;
    }
    const auto axes = find_ints(args.inputs, 1);
    const Result<uint32_t> reduced =
        reduced_axes(args.node, axes ? &*axes : nullptr, args.inputs[0].shape.rank());
    return reduced.ok() && (*reduced & 1U) == 0;
}

constexpr AttributeSchema kReduceSumAttributes[] = {
    {.name = "axes", .kind = AttributeKind::kInts, .before = 13},
    {.name = "keepdims", .kind = AttributeKind::kInt},
    {.name = "noop_with_empty_axes", .kind = AttributeKind::kInt, .since = 13},
};

constexpr AttributeSchema kReduceAttributes[] = {
    {.name = "axes", .kind = AttributeKind::kInts, .before = 18},
    {.name = "keepdims", .kind = AttributeKind::kInt},
    {.name = "noop_with_empty_axes", .kind = AttributeKind::kInt, .since = 18},
};

}  // namespace

ReduceKind reduce_kind(std::string_view op_type) {
    return row_of(op_type).kind;
}

Result<uint32_t> reduced_axes(const NodeData& node, const std::vector<int64_t>* axes, int rank) {
    if (axes == nullptr || axes->empty()) {
        const bool none = node.attr("noop_with_empty_axes", int64_t{0}) != 0;
        return none ? 0U : (1U << unsigned(rank)) - 1U;
    }
    uint32_t reduced = 0;
    for (const int64_t entry : *axes) {
        LEAT_ASSIGN_OR_RETURN(const int axis, normalize_axis(entry, rank));
        reduced |= 1U << unsigned(axis);
    }
    return reduced;
}

std::span<const OpDef> reduce_ops() {
    static const std::vector<OpDef> kOps = transformed(kRows, [](const ReduceRow& row) {
        return OpDef{.name = row.name,
                     .max_inputs = 2,
                     .attributes = row.kind == ReduceKind::kSum
                                       ? std::span<const AttributeSchema>(kReduceSumAttributes)
                                       : kReduceAttributes,
                     .infer = infer_reduce,
                     .reference = reduce_reference,
                     .cost = cost_by_element<1>,
                     .shape_inputs = 1U << 1U,
                     .gives_rows = reduce_gives_rows};
    });
    return kOps;
}

}  // namespace leat
