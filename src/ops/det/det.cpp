#include "ops/det/det.h"

#include "ops/movement/extents.h"
#include "ops/shard_rules.h"
#include "ops/type_checks.h"

namespace leat {
namespace {

Status infer_det(InferContext& context) {
    LEAT_RETURN_IF_ERROR(require_dtype(context, 0, kFloatTypes, "X"));
    const TypeInfo& x = context.input(0);
    if (!x.dims) {
        context.set_output(0, x.dtype, std::nullopt);
        return {};
    }
    const int rank = x.rank();
    if (rank < 2) {
        return invalid_argument("a determinant is that of a matrix")
            .with_found(x.to_string())
            .with_needed("rank >= 2");
    }
    const DimSpec& rows = (*x.dims)[size_t(rank - 2)];
    const DimSpec& columns = (*x.dims)[size_t(rank - 1)];
    if (rows.is_fixed() && columns.is_fixed() && rows.extent() != columns.extent()) {
        return invalid_argument("the matrices are not square")
            .with_found(x.to_string())
            .with_needed("as many rows as columns");
    }
    context.set_output(0, x.dtype, Dims(x.dims->begin(), x.dims->end() - 2));
    return {};
}

Cost det_cost(const NodeData& /*node*/,
              std::span<const TensorArg> inputs,
              std::span<const TensorArg> outputs) {
    const Shape& x = inputs[0].shape;
    const auto n = double(x.rank() > 0 ? x[x.rank() - 1] : 1);
    return {double(x.element_count()) * n * 2 / 3, moved_bytes(inputs, outputs)};
}

bool det_gives_rows(const ShardArgs& args) {
    return args.inputs[0].shape.rank() > 2 && rows_of_first_input(args);
}

constexpr OpDef kDetOps[] = {
    {.name = "Det",
     .infer = infer_det,
     .reference = det_reference,
     .cost = det_cost,
     .gives_rows = det_gives_rows},
};

}  // namespace

std::span<const OpDef> det_ops() {
    return kDetOps;
}

}  // namespace leat
