#include "ops/attention/attention.h"

#include <algorithm>
#include <cmath>

#include "ops/elementwise/element_access.h"
#include "ops/movement/extents.h"
#include "ops/type_checks.h"

namespace leat {
namespace {

constexpr std::array<std::string_view, 7> kAttentionNames = {
    "Q", "K", "V", "attn_mask", "past_key", "past_value", "nonpad_kv_seqlen"};

// What inference knows of the extents of the problem.
struct AttentionDims {
    DimSpec batch = DimSpec::unknown();
    DimSpec query_heads = DimSpec::unknown();
    DimSpec key_heads = DimSpec::unknown();
    DimSpec queries = DimSpec::unknown();
    DimSpec keys = DimSpec::unknown();
    DimSpec past{0};
    DimSpec head_size = DimSpec::unknown();
    DimSpec value_size = DimSpec::unknown();

    DimSpec total() const { return add_dims(past, keys); }
};

Status merge_attention(DimSpec& known, const DimSpec& other, std::string_view what) {
    LEAT_ASSIGN_OR_RETURN(known, merge_dims(known, other, what));
    return {};
}

Status check_attention_types(const InferContext& context) {
    constexpr DTypeSet kMaskTypes = kNumericTypes | dtype_set(DType::kBool);
    constexpr std::array<DTypeSet, 7> kTypes = {kFloatTypes,
                                                kFloatTypes,
                                                kFloatTypes,
                                                kMaskTypes,
                                                kFloatTypes,
                                                kFloatTypes,
                                                dtype_set(DType::kInt64)};
    for (int i = 0; i < int(kTypes.size()); ++i) {
        if (context.has_input(i)) {
            LEAT_RETURN_IF_ERROR(
                require_dtype(context, i, kTypes[size_t(i)], kAttentionNames[size_t(i)]));
        }
    }
    LEAT_RETURN_IF_ERROR(require_same_dtype(context, kAttentionQ, kAttentionK));
    const bool has_past_key = context.has_input(kAttentionPastKey);
    if (has_past_key != context.has_input(kAttentionPastValue)) {
        return invalid_argument("past_key and past_value belong together")
            .with_found(has_past_key ? "past_key alone" : "past_value alone")
            .with_needed("both or none");
    }
    if (!has_past_key) {
        return {};
    }
    if (context.has_input(kAttentionNonpad)) {
        return invalid_argument("nonpad_kv_seqlen cannot stand beside past_key and past_value");
    }
    LEAT_RETURN_IF_ERROR(require_rank(context, kAttentionPastKey, 4, "past_key"));
    LEAT_RETURN_IF_ERROR(require_rank(context, kAttentionPastValue, 4, "past_value"));
    LEAT_RETURN_IF_ERROR(require_same_dtype(context, kAttentionK, kAttentionPastKey));
    return require_same_dtype(context, kAttentionV, kAttentionPastValue);
}

Status check_attention_number(
    const NodeData& node, std::string_view key, int64_t fallback, int64_t lowest, int64_t highest) {
    const int64_t value = node.attr(key, fallback);
    if (value >= lowest && value <= highest) {
        return {};
    }
    const bool is_open = highest == std::numeric_limits<int64_t>::max();
    return invalid_argument("attribute '{}' is out of range", key)
        .with_found(fmt::format("{}", value))
        .with_needed(is_open ? fmt::format("{} or more", lowest)
                             : fmt::format("{} to {}", lowest, highest));
}

Status check_attention_attributes(const NodeData& node) {
    constexpr int64_t kLargest = std::numeric_limits<int64_t>::max();
    LEAT_RETURN_IF_ERROR(check_attention_number(node, "is_causal", 0, 0, 1));
    LEAT_RETURN_IF_ERROR(check_attention_number(node, "qk_matmul_output_mode", 0, 0, 3));
    LEAT_RETURN_IF_ERROR(check_attention_number(node, "left_window_size", -1, -1, kLargest));
    LEAT_RETURN_IF_ERROR(check_attention_number(node, "right_window_size", -1, -1, kLargest));
    LEAT_RETURN_IF_ERROR(check_attention_number(node, "q_num_heads", 1, 1, kLargest));
    LEAT_RETURN_IF_ERROR(check_attention_number(node, "kv_num_heads", 1, 1, kLargest));
    const float scale = node.attr("scale", 1.0F);
    if (!(scale >= 0)) {
        return invalid_argument("attribute 'scale' has no root")
            .with_found(fmt::format("{}", scale))
            .with_needed("0 or more");
    }
    const int64_t precision = node.attr("softmax_precision", int64_t{1});
    if (!contains(kFloatTypes, dtype_from_number(precision))) {
        return invalid_argument("attribute 'softmax_precision' is not a floating type")
            .with_found(fmt::format("{}", precision))
            .with_needed("1 (f32), 10 (f16), 11 (f64) or 16 (bf16)");
    }
    return {};
}

// Of Q, K and V; -1: unknown. They have the same one.
Result<int> attention_rank(const InferContext& context) {
    int rank = -1;
    for (int i = kAttentionQ; i <= kAttentionV; ++i) {
        const TypeInfo& type = context.input(i);
        const int found = type.rank();
        if (found >= 0 && ((found != 3 && found != 4) || (rank >= 0 && found != rank))) {
            return invalid_argument("{} has the wrong rank", kAttentionNames[size_t(i)])
                .with_found(type.to_string())
                .with_needed(rank >= 0 ? fmt::format("rank {}, as the operands before it", rank)
                                       : "rank 3 or 4");
        }
        rank = found >= 0 ? found : rank;
    }
    return rank;
}

// Q, K or V of rank 3 or 4.
Status read_attention_heads(const InferContext& context,
                            int i,
                            AttentionDims& attention,
                            DimSpec& heads,
                            DimSpec& tokens,
                            DimSpec& size) {
    const TypeInfo& type = context.input(i);
    if (!type.dims) {
        return {};
    }
    const Dims& dims = *type.dims;
    const std::string name(kAttentionNames[size_t(i)]);
    const std::string_view key = i == kAttentionQ ? "q_num_heads" : "kv_num_heads";
    const bool has_number = context.node().has_attr(key);
    const DimSpec number(has_number ? context.node().attr(key, int64_t{1}) : -1);
    LEAT_RETURN_IF_ERROR(merge_attention(attention.batch, dims[0], "the batch of " + name));
    LEAT_RETURN_IF_ERROR(merge_attention(tokens, dims[dims.size() - 2], "the length of " + name));
    if (dims.size() == 4) {
        LEAT_RETURN_IF_ERROR(merge_attention(heads, dims[1], "the number of heads of " + name));
        LEAT_RETURN_IF_ERROR(merge_attention(size, dims[3], "the size of the heads of " + name));
        return has_number ? merge_attention(
                                heads, number,
                                "the number of heads by the shape of " + name + " and attribute")
                          : Status();
    }
    if (!has_number) {
        return invalid_argument("attribute '{}' is missing, for {} has rank 3", key, name);
    }
    LEAT_RETURN_IF_ERROR(merge_attention(heads, number, "the number of heads of " + name));
    if (!dims[2].is_fixed()) {
        return {};
    }
    if (dims[2].extent() % number.extent() != 0) {
        return invalid_argument("the last axis of {} does not hold whole heads", name)
            .with_found(type.to_string())
            .with_needed(fmt::format("a multiple of {}", number.extent()));
    }
    return merge_attention(size, DimSpec(dims[2].extent() / number.extent()),
                           "the size of the heads of " + name);
}

Status read_attention_past(const InferContext& context,
                           int i,
                           AttentionDims& attention,
                           DimSpec& size) {
    if (!context.has_input(i) || !context.input(i).dims) {
        return {};
    }
    const Dims& dims = *context.input(i).dims;
    const std::string name(kAttentionNames[size_t(i)]);
    LEAT_RETURN_IF_ERROR(merge_attention(attention.batch, dims[0], "the batch of " + name));
    LEAT_RETURN_IF_ERROR(
        merge_attention(attention.key_heads, dims[1], "the number of heads of " + name));
    LEAT_RETURN_IF_ERROR(merge_attention(attention.past, dims[2], "the length of " + name));
    return merge_attention(size, dims[3], "the size of the heads of " + name);
}

Status check_attention_mask(const InferContext& context, const AttentionDims& attention) {
    if (!context.has_input(kAttentionMask) || !context.input(kAttentionMask).dims) {
        return {};
    }
    const TypeInfo& mask = context.input(kAttentionMask);
    const Dims needed{attention.batch, attention.query_heads, attention.queries, attention.total()};
    bool fits = mask.rank() <= 4;
    for (int k = 1; fits && k <= mask.rank(); ++k) {
        const DimSpec& found = (*mask.dims)[size_t(mask.rank() - k)];
        const DimSpec& to = needed[size_t(4 - k)];
        const bool is_known = found.is_fixed() && to.is_fixed();
        fits = !is_known || found.extent() == to.extent() ||
               (k == 1 ? found.extent() < to.extent() : found.extent() == 1);
    }
    if (!fits) {
        return invalid_argument("attn_mask does not broadcast to the scores")
            .with_found(mask.to_string())
            .with_needed(TypeInfo::tensor(mask.dtype, needed).to_string() +
                         ", the last axis may be shorter");
    }
    return {};
}

Result<AttentionDims> attention_dims(const InferContext& context) {
    AttentionDims attention;
    LEAT_RETURN_IF_ERROR(read_attention_heads(context, kAttentionQ, attention,
                                              attention.query_heads, attention.queries,
                                              attention.head_size));
    LEAT_RETURN_IF_ERROR(read_attention_heads(context, kAttentionK, attention, attention.key_heads,
                                              attention.keys, attention.head_size));
    LEAT_RETURN_IF_ERROR(read_attention_heads(context, kAttentionV, attention, attention.key_heads,
                                              attention.keys, attention.value_size));
    if (context.has_input(kAttentionPastKey)) {
        attention.past = DimSpec::unknown();
        LEAT_RETURN_IF_ERROR(
            read_attention_past(context, kAttentionPastKey, attention, attention.head_size));
        LEAT_RETURN_IF_ERROR(
            read_attention_past(context, kAttentionPastValue, attention, attention.value_size));
    }
    const int64_t query_heads = attention.query_heads.extent();
    const int64_t key_heads = attention.key_heads.extent();
    const bool is_multiple = key_heads > 0 ? query_heads % key_heads == 0 : query_heads == 0;
    if (query_heads >= 0 && key_heads >= 0 && !is_multiple) {
        return invalid_argument("the numbers of heads do not fit")
            .with_found(fmt::format("{} of Q, {} of K and V", query_heads, key_heads))
            .with_needed("a multiple");
    }
    return attention;
}

Status check_attention_nonpad(const InferContext& context, const AttentionDims& attention) {
    if (!context.has_input(kAttentionNonpad)) {
        return {};
    }
    LEAT_RETURN_IF_ERROR(require_rank(context, kAttentionNonpad, 1, "nonpad_kv_seqlen"));
    const auto& dims = context.input(kAttentionNonpad).dims;
    return dims ? merge_dims(attention.batch, dims->front(),
                             "the batch of Q and the length of nonpad_kv_seqlen")
                      .error()
                : Status();
}

Status infer_attention(InferContext& context) {
    LEAT_RETURN_IF_ERROR(check_attention_types(context));
    LEAT_RETURN_IF_ERROR(check_attention_attributes(context.node()));
    LEAT_ASSIGN_OR_RETURN(const int rank, attention_rank(context));
    LEAT_ASSIGN_OR_RETURN(const AttentionDims attention, attention_dims(context));
    LEAT_RETURN_IF_ERROR(check_attention_mask(context, attention));
    LEAT_RETURN_IF_ERROR(check_attention_nonpad(context, attention));
    const DType dtype = context.input(kAttentionQ).dtype;
    std::optional<Dims> y;
    if (rank == 4) {
        y = Dims{attention.batch, attention.query_heads, attention.queries, attention.value_size};
    } else if (rank == 3) {
        const bool is_fixed = attention.query_heads.is_fixed() && attention.value_size.is_fixed();
        y = Dims{attention.batch, attention.queries,
                 is_fixed ? multiply_dims(attention.query_heads, attention.value_size)
                          : DimSpec::unknown()};
    }
    context.set_output(0, dtype, std::move(y));
    const DimSpec total = attention.total();
    if (context.has_output(1)) {
        context.set_output(1, dtype,
                           Dims{attention.batch, attention.key_heads, total, attention.head_size});
    }
    if (context.has_output(2)) {
        context.set_output(2, context.input(kAttentionV).dtype,
                           Dims{attention.batch, attention.key_heads, total, attention.value_size});
    }
    if (context.has_output(3)) {
        context.set_output(3, dtype,
                           Dims{attention.batch, attention.query_heads, attention.queries, total});
    }
    return {};
}

Cost attention_cost(const NodeData& node,
                    std::span<const TensorArg> inputs,
                    std::span<const TensorArg> outputs) {
    const int64_t bytes = moved_bytes(inputs, outputs);
    const Result<AttentionGeometry> made = AttentionGeometry::make(node, inputs);
    if (!made.ok()) {
        return {0, bytes};
    }
    const double scores = double(made->batch) * double(made->query_heads) * double(made->queries) *
                          double(made->total);
    return {scores * (2 * double(made->head_size) + 2 * double(made->value_size) + 8), bytes};
}

bool attention_gives_rows(const ShardArgs& args) {
    const Shape scores{args.outputs[0].shape[0], 1, 1, 1};
    for (size_t i = 0; i < args.inputs.size(); ++i) {
        const bool fits = int(i) == kAttentionMask
                              ? broadcasts_to_rows(args.inputs[i], args.parts[i], scores)
                              : args.parts[i] == ShardPart::kRows;
        if (args.inputs[i].present() && !fits) {
            return false;
        }
    }
    return true;
}

constexpr AttributeSchema kAttentionAttributes[] = {
    {.name = "is_causal", .kind = AttributeKind::kInt},
    {.name = "kv_num_heads", .kind = AttributeKind::kInt},
    {.name = "left_window_size", .kind = AttributeKind::kInt, .since = 25},
    {.name = "q_num_heads", .kind = AttributeKind::kInt},
    {.name = "qk_matmul_output_mode", .kind = AttributeKind::kInt},
    {.name = "right_window_size", .kind = AttributeKind::kInt, .since = 25},
    {.name = "scale", .kind = AttributeKind::kFloat},
    {.name = "softcap", .kind = AttributeKind::kFloat},
    {.name = "softmax_precision", .kind = AttributeKind::kInt},
};

constexpr OpDef kAttentionOps[] = {
    {.name = "Attention",
     .min_inputs = 3,
     .max_inputs = 7,
     .max_outputs = 4,
     .attributes = kAttentionAttributes,
     .infer = infer_attention,
     .reference = attention_reference,
     .cost = attention_cost,
     .gives_rows = attention_gives_rows},
};

// Rank 3 has the heads behind the tokens.
AttentionStrides strides_of_heads(bool is_packed, int64_t heads, int64_t tokens, int64_t size) {
    return is_packed ? AttentionStrides{heads * tokens * size, size, heads * size}
                     : AttentionStrides{heads * tokens * size, tokens * size, size};
}

}  // namespace

Result<AttentionGeometry> AttentionGeometry::make(const NodeData& node,
                                                  std::span<const TensorArg> inputs) {
    const Shape& q = inputs[kAttentionQ].shape;
    const Shape& k = inputs[kAttentionK].shape;
    const Shape& v = inputs[kAttentionV].shape;
    const bool is_packed = q.rank() == 3;
    AttentionGeometry geometry;
    geometry.batch = q[0];
    geometry.query_heads = is_packed ? node.attr("q_num_heads", int64_t{1}) : q[1];
    geometry.key_heads = is_packed ? node.attr("kv_num_heads", int64_t{1}) : k[1];
    geometry.queries = q[q.rank() - 2];
    geometry.head_size = is_packed ? q[2] / geometry.query_heads : q[3];
    geometry.value_size = is_packed ? v[2] / geometry.key_heads : v[3];
    const int64_t keys = k[k.rank() - 2];
    const TensorArg* past = find_arg(inputs, kAttentionPastKey);
    geometry.past = past != nullptr ? past->shape[2] : 0;
    geometry.total = geometry.past + keys;
    geometry.q =
        strides_of_heads(is_packed, geometry.query_heads, geometry.queries, geometry.head_size);
    geometry.k = strides_of_heads(is_packed, geometry.key_heads, keys, geometry.head_size);
    geometry.v = strides_of_heads(is_packed, geometry.key_heads, keys, geometry.value_size);
    geometry.y =
        strides_of_heads(is_packed, geometry.query_heads, geometry.queries, geometry.value_size);
    geometry.scale =
        node.attr("scale", float(1 / std::sqrt(double(std::max<int64_t>(geometry.head_size, 1)))));
    geometry.softcap = node.attr("softcap", 0.0F);
    geometry.is_causal = node.attr("is_causal", int64_t{0}) != 0;
    geometry.left_window = node.attr("left_window_size", int64_t{-1});
    geometry.right_window = node.attr("right_window_size", int64_t{-1});
    geometry.mask_keys = geometry.total;
    const TensorArg* mask = find_arg(inputs, kAttentionMask);
    if (mask != nullptr && mask->shape.rank() > 0) {
        const int rank = mask->shape.rank();
        geometry.mask_keys = mask->shape[rank - 1];
        for (int axis = 4 - rank; axis < 4; ++axis) {
            const int own = axis - (4 - rank);
            const bool is_one = mask->shape[own] == 1 && axis != 3;
            geometry.mask_strides[size_t(axis)] = is_one ? 0 : mask->strides[size_t(own)];
        }
    }
    return geometry;
}

KeyRange AttentionGeometry::keys_of(const TensorArg* nonpad,
                                    int64_t sequence,
                                    int64_t query) const {
    const int64_t valid = nonpad != nullptr ? nonpad->as<const int64_t>()[sequence] : total;
    const int64_t position = query + (nonpad != nullptr ? valid - queries : past);
    // Larger windows are the whole: they would only exceed 64 bits.
    const int64_t widest = total + queries + 1;
    int64_t begin = 0;
    int64_t end = std::min({total, valid, mask_keys});
    if (left_window >= 0) {
        begin = std::max(begin, position - std::min(left_window, widest));
    }
    if (right_window >= 0) {
        end = std::min(end, position + std::min(right_window, widest) + 1);
    }
    if (is_causal) {
        end = std::min(end, position + 1);
    }
    return {begin, std::max(begin, end)};
}

Status check_nonpad(const AttentionGeometry& geometry, const TensorArg* nonpad) {
    for (int64_t b = 0; nonpad != nullptr && b < geometry.batch; ++b) {
        const int64_t keys = nonpad->as<const int64_t>()[b];
        if (keys < 0 || keys > geometry.total) {
            return invalid_argument("element {} of nonpad_kv_seqlen is no number of keys", b)
                .with_found(fmt::format("{}", keys))
                .with_needed(fmt::format("0 to {}", geometry.total));
        }
    }
    return {};
}

std::span<const OpDef> attention_ops() {
    return kAttentionOps;
}

}  // namespace leat
