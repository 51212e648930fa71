#include "ops/cast/cast.h"

#include "ops/elementwise/elementwise.h"
#include "ops/shard_rules.h"

namespace leat {
namespace {

constexpr DTypeSet kCastTypes = kRealTypes | dtype_set(DType::kString);

// Types of shape arithmetic.
bool holds_extents(DType dtype) {
    return dtype == DType::kInt64 || dtype == DType::kInt32;
}

Status infer_cast_to(InferContext& context, DType to) {
    LEAT_RETURN_IF_ERROR(require_dtype(context, 0, kCastTypes, "input"));
    const std::string round_mode = context.node().attr("round_mode", "up");
    if (round_mode != "up" && round_mode != "down" && round_mode != "nearest") {
        return invalid_argument("attribute 'round_mode' is unknown")
            .with_found(round_mode)
            .with_needed("up, down or nearest");
    }
    TypeInfo type = context.input(0);
    const DType from = type.dtype;
    type.dtype = to;
    context.set_output(0, std::move(type));
    if (holds_extents(to) && (holds_extents(from) || from == DType::kBool)) {
        if (auto extents = context.extents(0)) {
            context.set_extents(0, *std::move(extents));
        }
    }
    return {};
}

Status infer_cast(InferContext& context) {
    LEAT_ASSIGN_OR_RETURN(const DType to, cast_target(context.node()));
    return infer_cast_to(context, to);
}

Status infer_cast_like(InferContext& context) {
    LEAT_RETURN_IF_ERROR(require_dtype(context, 1, kCastTypes, "target_type"));
    return infer_cast_to(context, context.input(1).dtype);
}

// The elements of the second operand are not read: it may be as long as it likes.
bool cast_like_gives_rows(const ShardArgs& args) {
    return args.parts[0] == ShardPart::kRows;
}

constexpr AttributeSchema kCastLikeAttributes[] = {
    {.name = "round_mode", .kind = AttributeKind::kString, .since = 24},
    {.name = "saturate", .kind = AttributeKind::kInt, .since = 19},
};

constexpr AttributeSchema kCastAttributes[] = {
    {.name = "round_mode", .kind = AttributeKind::kString, .since = 24},
    {.name = "saturate", .kind = AttributeKind::kInt, .since = 19},
    {.name = "to", .kind = AttributeKind::kString, .before = 6, .is_required = true},
    {.name = "to", .kind = AttributeKind::kInt, .since = 6, .is_required = true},
};

}  // namespace

Status cast_reference(const ReferenceArgs& args);

Result<DType> cast_target(const NodeData& node) {
    const int64_t to = node.attr("to", int64_t{0});
    if (to <= 0 || to >= kDTypeCount || !contains(kCastTypes, DType(to))) {
        return invalid_argument("attribute 'to' is no type that Cast can give")
            .with_found(to > 0 && to < kDTypeCount ? std::string(name_of(DType(to)))
                                                   : std::to_string(to))
            .with_needed("the number of a numeric type, bool or string");
    }
    return DType(to);
}

NarrowOptions cast_options(const NodeData& node) {
    NarrowOptions options;
    options.saturate = node.attr("saturate", int64_t{1}) != 0;
    const std::string round_mode = node.attr("round_mode", "up");
    using Round = NarrowOptions::Round;
    options.e8m0_round = round_mode == "down"      ? Round::kDown
                         : round_mode == "nearest" ? Round::kNearest
                                                   : Round::kUp;
    return options;
}

std::span<const OpDef> cast_ops() {
    static constexpr OpDef kOps[] = {
        {.name = "Cast",
         .attributes = kCastAttributes,
         .infer = infer_cast,
         .reference = cast_reference,
         .in_place_inputs = 1,  // to the same type
         .gives_rows = rows_of_first_input,
         .layout_rule = LayoutRule::kAgnostic},
        {.name = "CastLike",
         .min_inputs = 2,
         .max_inputs = 2,
         .attributes = kCastLikeAttributes,
         .infer = infer_cast_like,
         .reference = cast_reference,
         .gives_rows = cast_like_gives_rows},
    };
    return kOps;
}

}  // namespace leat
