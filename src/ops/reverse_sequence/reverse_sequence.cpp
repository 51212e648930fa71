#include "ops/reverse_sequence/reverse_sequence.h"

#include <algorithm>

#include "ops/movement/extents.h"
#include "ops/type_checks.h"

namespace leat {
namespace {

Status infer_reverse_sequence(InferContext& context) {
    LEAT_RETURN_IF_ERROR(require_dtype(context, 1, dtype_bit(DType::kInt64), "sequence_lens"));
    LEAT_RETURN_IF_ERROR(require_rank(context, 1, 1, "sequence_lens"));
    const int64_t time_axis = context.node().attr("time_axis", int64_t{0});
    const int64_t batch_axis = context.node().attr("batch_axis", int64_t{1});
    if (std::min(time_axis, batch_axis) != 0 || std::max(time_axis, batch_axis) != 1) {
        return invalid_argument("attributes time_axis and batch_axis name no two axes")
            .with_found(fmt::format("{} and {}", time_axis, batch_axis))
            .with_needed("0 and 1, in any order");
    }
    TypeInfo y = context.input(0);
    if (!y.dims) {
        context.set_output(0, std::move(y));
        return {};
    }
    if (y.rank() < 2) {
        return invalid_argument("the input has no axis of the batch")
            .with_found(y.to_string())
            .with_needed("rank >= 2");
    }
    if (context.input(1).dims) {
        DimSpec& batch = (*y.dims)[size_t(batch_axis)];
        LEAT_ASSIGN_OR_RETURN(batch, merge_dims(batch, (*context.input(1).dims)[0],
                                                "the extent of the batch and of sequence_lens"));
    }
    context.set_output(0, std::move(y));
    return {};
}

bool reverse_sequence_gives_rows(const ShardArgs& args) {
    return args.node.attr("batch_axis", int64_t{1}) == 0 && args.parts[0] == ShardPart::kRows &&
           args.parts[1] == ShardPart::kRows;
}

constexpr AttributeSchema kReverseSequenceAttributes[] = {
    {.name = "batch_axis", .kind = AttributeKind::kInt},
    {.name = "time_axis", .kind = AttributeKind::kInt},
};

constexpr OpDef kReverseSequenceOps[] = {
    {.name = "ReverseSequence",
     .min_inputs = 2,
     .max_inputs = 2,
     .attributes = kReverseSequenceAttributes,
     .infer = infer_reverse_sequence,
     .reference = reverse_sequence_reference,
     .gives_rows = reverse_sequence_gives_rows},
};

}  // namespace

std::span<const OpDef> reverse_sequence_ops() {
    return kReverseSequenceOps;
}

}  // namespace leat
