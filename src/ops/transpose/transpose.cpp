#include "ops/transpose/transpose.h"

#include "ops/movement/extents.h"
#include "ops/shard_rules.h"

namespace leat {
namespace {

Status infer_transpose(InferContext& context) {
    const TypeInfo& x = context.input(0);
    if (!x.dims) {
        const auto* perm = context.node().ints("perm");
        std::optional<Dims> dims;
        if (perm != nullptr) {
            LEAT_RETURN_IF_ERROR(check_output_rank(int64_t(perm->size())));
            dims = unknown_dims(int64_t(perm->size()));
        }
        context.set_output(0, x.dtype, std::move(dims));
        return {};
    }
    LEAT_RETURN_IF_ERROR(check_output_rank(x.rank()));
    LEAT_ASSIGN_OR_RETURN(const auto permutation, transpose_permutation(context.node(), x.rank()));
    Dims dims;
    dims.reserve(size_t(x.rank()));
    for (int axis = 0; axis < x.rank(); ++axis) {
        dims.push_back((*x.dims)[size_t(permutation[size_t(axis)])]);
    }
    if (auto extents = context.extents(0)) {
        track_extents(context, 0, x.dtype, std::move(*extents));
    }
    context.set_output(0, x.dtype, std::move(dims));
    return {};
}

bool transpose_gives_rows(const ShardArgs& args) {
    const auto permutation = transpose_permutation(args.node, args.inputs[0].shape.rank());
    return rows_of_first_input(args) && permutation.ok() && permutation->front() == 0;
}

constexpr AttributeSchema kTransposeAttributes[] = {
    {.name = "perm", .kind = AttributeKind::kInts},
};

constexpr OpDef kTransposeOps[] = {
    {.name = "Transpose",
     .attributes = kTransposeAttributes,
     .infer = infer_transpose,
     .reference = transpose_reference,
     .gives_rows = transpose_gives_rows},
};

}  // namespace

Result<std::array<int, kMaxRank>> transpose_permutation(const NodeData& node, int rank) {
    std::array<int, kMaxRank> permutation{};
    const auto* perm = node.ints("perm");
    if (perm == nullptr || (perm->empty() && rank == 0)) {
        for (int axis = 0; axis < rank; ++axis) {
            permutation[size_t(axis)] = rank - 1 - axis;
        }
        return permutation;
    }
    if (int(perm->size()) != rank) {
        return invalid_argument("perm does not fit the input")
            .with_found(fmt::format("{} axes", perm->size()))
            .with_needed(fmt::format("{} axes", rank));
    }
    for (size_t i = 0; i < perm->size(); ++i) {
        // The standard has no negative ones here, and passes read the attribute as it is.
        if ((*perm)[i] < 0) {
            return invalid_argument("perm has a negative axis")
                .with_found(fmt::format("{}", (*perm)[i]))
                .with_needed(fmt::format("axes in [0, {})", rank));
        }
        LEAT_ASSIGN_OR_RETURN(
            permutation[i], normalize_next_axis((*perm)[i], rank, std::span(permutation).first(i)));
    }
    return permutation;
}

std::span<const OpDef> transpose_ops() {
    return kTransposeOps;
}

}  // namespace leat
