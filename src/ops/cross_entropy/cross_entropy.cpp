#include "ops/cross_entropy/cross_entropy.h"

#include "ops/movement/extents.h"
#include "ops/shard_rules.h"
#include "ops/type_checks.h"

namespace leat {
namespace {

// The extents of the labels, as scores and labels have them.
Result<std::optional<Dims>> label_dims(const InferContext& context) {
    const TypeInfo& scores = context.input(0);
    std::optional<Dims> dims = context.input(1).dims;
    if (!scores.dims) {
        return dims;
    }
    if (scores.rank() < 2) {
        return invalid_argument("the scores have no axis of classes")
            .with_found(scores.to_string())
            .with_needed("rank >= 2");
    }
    Dims own = *scores.dims;
    own.erase(own.begin() + 1);
    if (!dims) {
        return std::optional<Dims>(std::move(own));
    }
    if (dims->size() != own.size()) {
        return invalid_argument("the labels do not fit the scores")
            .with_found(fmt::format("rank {}", dims->size()))
            .with_needed(fmt::format("rank {}", own.size()));
    }
    for (size_t i = 0; i < own.size(); ++i) {
        LEAT_ASSIGN_OR_RETURN(
            (*dims)[i],
            merge_dims((*dims)[i], own[i], fmt::format("axis {} of labels and of scores", i)));
    }
    return dims;
}

Status infer_cross_entropy(InferContext& context) {
    LEAT_RETURN_IF_ERROR(require_dtype(context, 0, kFloatTypes, "scores"));
    LEAT_RETURN_IF_ERROR(check_index_type(context, 1, "labels"));
    LEAT_ASSIGN_OR_RETURN(const LossReduction reduction, loss_reduction(context.node()));
    LEAT_ASSIGN_OR_RETURN(std::optional<Dims> labels, label_dims(context));
    const TypeInfo& scores = context.input(0);
    if (context.has_input(2)) {
        LEAT_RETURN_IF_ERROR(require_same_dtype(context, 0, 2));
        LEAT_RETURN_IF_ERROR(require_rank(context, 2, 1, "weights"));
        if (scores.dims && context.input(2).dims) {
            LEAT_RETURN_IF_ERROR(merge_dims((*scores.dims)[1], (*context.input(2).dims)[0],
                                            "the number of classes and of weights")
                                     .error());
        }
    }
    if (reduction != LossReduction::kNone) {
        labels = Dims{};
    }
    context.set_output(0, scores.dtype, std::move(labels));
    if (context.has_output(1)) {
        context.set_output(1, scores);
    }
    return {};
}

bool cross_entropy_gives_rows(const ShardArgs& args) {
    const Result<LossReduction> reduction = loss_reduction(args.node);
    return reduction.ok() && *reduction == LossReduction::kNone &&
           args.parts[0] == ShardPart::kRows && args.parts[1] == ShardPart::kRows &&
           are_whole_from(args, 2);
}

// One element of each line is read where no softmax is wanted.
Cost likelihood_loss_cost(const NodeData& /*node*/,
                          std::span<const TensorArg> inputs,
                          std::span<const TensorArg> outputs) {
    return {2 * double(inputs[1].shape.element_count()),
            2 * inputs[1].byte_count() + moved_bytes({}, outputs)};
}

constexpr AttributeSchema kCrossEntropyAttributes[] = {
    {.name = "ignore_index", .kind = AttributeKind::kInt},
    {.name = "reduction", .kind = AttributeKind::kString},
};

constexpr OpDef kCrossEntropyOps[] = {
    {.name = "NegativeLogLikelihoodLoss",
     .min_inputs = 2,
     .max_inputs = 3,
     .attributes = kCrossEntropyAttributes,
     .infer = infer_cross_entropy,
     .reference = cross_entropy_reference,
     .cost = likelihood_loss_cost,
     .gives_rows = cross_entropy_gives_rows},
    {.name = "SoftmaxCrossEntropyLoss",
     .min_inputs = 2,
     .max_inputs = 3,
     .max_outputs = 2,
     .attributes = kCrossEntropyAttributes,
     .infer = infer_cross_entropy,
     .reference = cross_entropy_reference,
     .cost = cost_by_element<20>,
     .gives_rows = cross_entropy_gives_rows},
};

}  // namespace

Result<LossReduction> loss_reduction(const NodeData& node) {
    const std::string reduction = node.attr("reduction", "mean");
    if (reduction == "none") {
        return LossReduction::kNone;
    }
    if (reduction == "sum") {
        return LossReduction::kSum;
    }
    if (reduction == "mean") {
        return LossReduction::kMean;
    }
    return invalid_argument("attribute reduction has no such value")
        .with_found(reduction)
        .with_needed("none, sum or mean");
}

std::span<const OpDef> cross_entropy_ops() {
    return kCrossEntropyOps;
}

}  // namespace leat
