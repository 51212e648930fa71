#include "ops/rotary_embedding/rotary_embedding.h"

#include "ops/elementwise/element_access.h"
#include "ops/movement/extents.h"
#include "ops/shard_rules.h"
#include "ops/type_checks.h"

namespace leat {
namespace {

Status check_rotary_extent(const DimSpec& found,
                           const DimSpec& needed,
                           bool may_be_1,
                           const std::string& what) {
    if (!found.is_fixed() || !needed.is_fixed() || found.extent() == needed.extent() ||
        (may_be_1 && found.extent() == 1)) {
        return {};
    }
    return invalid_argument("{} has the wrong extent", what)
        .with_found(fmt::format("{}", found.extent()))
        .with_needed(fmt::format("{}{}", needed.extent(), may_be_1 ? " or 1" : ""));
}

// The number of heads of a packed x, and the size of a head where it is known.
Result<DimSpec> rotary_head_size(const NodeData& node, const TypeInfo& x) {
    const Dims& dims = *x.dims;
    if (dims.size() == 4) {
        return dims[3];
    }
    const int64_t heads = node.attr("num_heads", int64_t{0});
    if (heads < 1 || (dims[2].is_fixed() && dims[2].extent() % heads != 0)) {
        return invalid_argument("attribute 'num_heads' does not fit")
            .with_found(fmt::format("{} for input {}", heads, x.to_string()))
            .with_needed("a positive divisor of the last extent of an input of rank 3");
    }
    return dims[2].is_fixed() ? DimSpec(dims[2].extent() / heads) : DimSpec::unknown();
}

// What of each head is rotated.
Result<DimSpec> rotary_size(const NodeData& node, const DimSpec& head_size) {
    const int64_t given = node.attr("rotary_embedding_dim", int64_t{0});
    const bool is_beyond = head_size.is_fixed() && given > head_size.extent();
    if (given < 0 || given % 2 != 0 || is_beyond) {
        return invalid_argument("attribute 'rotary_embedding_dim' does not fit")
            .with_found(fmt::format("{}", given))
            .with_needed(fmt::format(
                "an even number from 0 to the size of a head{}",
                head_size.is_fixed() ? fmt::format(", {}", head_size.extent()) : std::string()));
    }
    if (given == 0 && head_size.is_fixed() && head_size.extent() % 2 != 0) {
        return invalid_argument("the size of a head must be even")
            .with_found(fmt::format("{}", head_size.extent()));
    }
    return given == 0 ? head_size : DimSpec(given);
}

Status check_rotary_cache(const InferContext& context, int i, const DimSpec& rotated) {
    const std::string name = i == 1 ? "cos_cache" : "sin_cache";
    const bool has_positions = context.has_input(3);
    LEAT_RETURN_IF_ERROR(require_same_dtype(context, 0, i));
    LEAT_RETURN_IF_ERROR(require_rank(context, i, has_positions ? 2 : 3, name));
    if (!context.input(i).dims) {
        return {};
    }
    const Dims& cache = *context.input(i).dims;
    const DimSpec half = rotated.is_fixed() ? DimSpec(rotated.extent() / 2) : DimSpec::unknown();
    return check_rotary_extent(cache.back(), half, false, "the last axis of " + name);
}

// Axes b and s of an operand, which may have an extent of 1 there.
Status check_rotary_tokens(const InferContext& context, int i, const std::string& name) {
    if (!context.input(0).dims || !context.input(i).dims) {
        return {};
    }
    const Dims& x = *context.input(0).dims;
    const Dims& operand = *context.input(i).dims;
    LEAT_RETURN_IF_ERROR(check_rotary_extent(operand[0], x[0], true, "the batch of " + name));
    return check_rotary_extent(operand[1], x[x.size() - 2], true, "the length of " + name);
}

Status infer_rotary_embedding(InferContext& context) {
    constexpr DTypeSet kTypes = kFloatTypes & ~dtype_set(DType::kFloat64);
    LEAT_RETURN_IF_ERROR(require_dtype(context, 0, kTypes, "X"));
    const TypeInfo& x = context.input(0);
    if (x.dims && x.rank() != 3 && x.rank() != 4) {
        return invalid_argument("X has the wrong rank")
            .with_found(x.to_string())
            .with_needed("rank 4: [b, heads, s, head_size], or 3: [b, s, heads * head_size]");
    }
    DimSpec head_size = DimSpec::unknown();
    if (x.dims) {
        LEAT_ASSIGN_OR_RETURN(head_size, rotary_head_size(context.node(), x));
    }
    LEAT_ASSIGN_OR_RETURN(const DimSpec rotated, rotary_size(context.node(), head_size));
    LEAT_RETURN_IF_ERROR(check_rotary_cache(context, 1, rotated));
    LEAT_RETURN_IF_ERROR(check_rotary_cache(context, 2, rotated));
    const TypeInfo& cos = context.input(1);
    const TypeInfo& sin = context.input(2);
    for (size_t i = 0; cos.dims && sin.dims && i < cos.dims->size(); ++i) {
        LEAT_RETURN_IF_ERROR(
            merge_dims((*cos.dims)[i], (*sin.dims)[i], "an extent of cos_cache and sin_cache")
                .error());
    }
    if (context.has_input(3)) {
        LEAT_RETURN_IF_ERROR(require_dtype(context, 3, dtype_set(DType::kInt64), "position_ids"));
        LEAT_RETURN_IF_ERROR(require_rank(context, 3, 2, "position_ids"));
        LEAT_RETURN_IF_ERROR(check_rotary_tokens(context, 3, "position_ids"));
    } else {
        LEAT_RETURN_IF_ERROR(check_rotary_tokens(context, 1, "cos_cache"));
    }
    context.set_output(0, x);
    return {};
}

bool rotary_gives_rows(const ShardArgs& args) {
    if (args.parts[0] != ShardPart::kRows) {
        return false;
    }
    const auto fits = [&](size_t i) {
        const TensorArg& operand = args.inputs[i];
        return args.parts[i] == ShardPart::kRows
                   ? operand.shape[0] == args.inputs[0].shape[0]
                   : args.parts[i] == ShardPart::kWhole && operand.shape[0] == 1;
    };
    if (find_arg(args.inputs, 3) == nullptr) {
        return fits(1) && fits(2);
    }
    return args.parts[1] == ShardPart::kWhole && args.parts[2] == ShardPart::kWhole && fits(3);
}

constexpr AttributeSchema kRotaryEmbeddingAttributes[] = {
    {.name = "interleaved", .kind = AttributeKind::kInt},
    {.name = "num_heads", .kind = AttributeKind::kInt},
    {.name = "rotary_embedding_dim", .kind = AttributeKind::kInt},
};

constexpr OpDef kRotaryEmbeddingOps[] = {
    {.name = "RotaryEmbedding",
     .min_inputs = 3,
     .max_inputs = 4,
     .attributes = kRotaryEmbeddingAttributes,
     .infer = infer_rotary_embedding,
     .reference = rotary_embedding_reference,
     .cost = cost_by_element<3>,
     .gives_rows = rotary_gives_rows},
};

}  // namespace

Result<RotaryGeometry> RotaryGeometry::make(const NodeData& node, const Shape& x) {
    RotaryGeometry geometry;
    geometry.batch = x[0];
    if (x.rank() == 4) {
        geometry.heads = x[1];
        geometry.length = x[2];
        geometry.head_size = x[3];
        geometry.head_stride = x[2] * x[3];
        geometry.token_stride = x[3];
    } else {
        geometry.heads = node.attr("num_heads", int64_t{1});
        geometry.length = x[1];
        geometry.head_size = x[2] / geometry.heads;
        geometry.head_stride = geometry.head_size;
        geometry.token_stride = x[2];
    }
    LEAT_ASSIGN_OR_RETURN(const DimSpec rotated, rotary_size(node, DimSpec(geometry.head_size)));
    geometry.rotated = rotated.extent();
    geometry.is_interleaved = node.attr("interleaved", int64_t{0}) != 0;
    return geometry;
}

Result<int64_t> rotary_row(std::span<const TensorArg> inputs, int64_t sequence, int64_t token) {
    const Shape& cache = inputs[1].shape;
    const TensorArg* ids = find_arg(inputs, 3);
    const Shape& tokens = ids != nullptr ? ids->shape : cache;
    const int64_t place =
        (tokens[0] == 1 ? 0 : sequence) * tokens[1] + (tokens[1] == 1 ? 0 : token);
    if (ids == nullptr) {
        return place;
    }
    const int64_t position = ids->as<const int64_t>()[place];
    if (position < -cache[0] || position >= cache[0]) {
        return invalid_argument("position_ids holds a position beyond cos_cache")
            .with_found(fmt::format("{}", position))
            .with_needed(fmt::format("{} to {}", -cache[0], cache[0] - 1));
    }
    return position < 0 ? position + cache[0] : position;
}

std::span<const OpDef> rotary_embedding_ops() {
    return kRotaryEmbeddingOps;
}

}  // namespace leat
