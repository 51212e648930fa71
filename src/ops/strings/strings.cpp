#include "ops/strings/strings.h"

#include <utility>

#include "ops/movement/extents.h"
#include "ops/type_checks.h"

namespace leat {
namespace {

constexpr DTypeSet kStrings = dtype_bit(DType::kString);

Status infer_string_concat(InferContext& context) {
    LEAT_RETURN_IF_ERROR(require_dtype(context, 0, kStrings, "X"));
    LEAT_RETURN_IF_ERROR(require_dtype(context, 1, kStrings, "Y"));
    LEAT_ASSIGN_OR_RETURN(std::optional<Dims> dims,
                          broadcast_dims(context.input(0), context.input(1)));
    context.set_output(0, DType::kString, std::move(dims));
    return {};
}

Status infer_string_split(InferContext& context) {
    LEAT_RETURN_IF_ERROR(require_dtype(context, 0, kStrings, "X"));
    const TypeInfo& x = context.input(0);
    std::optional<Dims> pieces = x.dims;
    if (pieces) {
        LEAT_RETURN_IF_ERROR(check_output_rank(int64_t(pieces->size()) + 1));
        pieces->push_back(DimSpec::unknown());
    }
    context.set_output(kSplitPieces, DType::kString, std::move(pieces));
    if (context.has_output(kSplitCounts)) {
        context.set_output(kSplitCounts, DType::kInt64, x.dims);
    }
    return {};
}

Status infer_regex_full_match(InferContext& context) {
    LEAT_RETURN_IF_ERROR(full_match_regex(context.node()).error());
    LEAT_RETURN_IF_ERROR(require_dtype(context, 0, kStrings, "X"));
    context.set_output(0, DType::kBool, context.input(0).dims);
    return {};
}

// A text of a line, a step of the pattern for each byte.
Cost regex_full_match_cost(const NodeData& node,
                           std::span<const TensorArg> inputs,
                           std::span<const TensorArg> outputs) {
    constexpr double kBytesOfText = 40;
    const auto steps = double(node.attr("pattern", "").size());
    return {double(inputs[0].shape.element_count()) * kBytesOfText * (steps + 1),
            moved_bytes(inputs, outputs)};
}

constexpr AttributeSchema kStringSplitAttributes[] = {
    {.name = "delimiter", .kind = AttributeKind::kString},
    {.name = "maxsplit", .kind = AttributeKind::kInt},
};
constexpr AttributeSchema kRegexFullMatchAttributes[] = {
    {.name = "pattern", .kind = AttributeKind::kString},
};

constexpr OpDef kStringsOps[] = {
    {.name = "StringConcat",
     .min_inputs = 2,
     .max_inputs = 2,
     .infer = infer_string_concat,
     .reference = string_concat_reference,
     .type_rule = TypeRule::kBroadcast},
    {.name = "StringSplit",
     .min_outputs = 2,
     .max_outputs = 2,
     .named_outputs = 0b11,
     .open_outputs = 1U << unsigned(kSplitPieces),
     .attributes = kStringSplitAttributes,
     .infer = infer_string_split,
     .reference = string_split_reference},
    {.name = "RegexFullMatch",
     .attributes = kRegexFullMatchAttributes,
     .infer = infer_regex_full_match,
     .reference = regex_full_match_reference,
     .cost = regex_full_match_cost},
};

}  // namespace

Result<Regex> full_match_regex(const NodeData& node) {
    if (!node.has_attr("pattern")) {
        return invalid_argument("attribute pattern is absent")
            .with_needed("a pattern of RE2's syntax");
    }
    return Regex::compile(node.attr("pattern", ""));
}

std::span<const OpDef> strings_ops() {
    return kStringsOps;
}

}  // namespace leat
