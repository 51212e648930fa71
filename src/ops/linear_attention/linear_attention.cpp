#include "ops/linear_attention/linear_attention.h"

#include "ops/elementwise/element_access.h"
#include "ops/movement/extents.h"
#include "ops/shard_rules.h"
#include "ops/type_checks.h"

namespace leat {
namespace {

enum LinearAttentionInput : int {
    kLinearQuery,
    kLinearKey,
    kLinearValue,
    kLinearPast,
    kLinearDecay,
    kLinearBeta
};
constexpr std::array<std::string_view, 6> kLinearAttentionNames = {"query",      "key",   "value",
                                                                   "past_state", "decay", "beta"};

struct LinearAttentionDims {
    DimSpec batch = DimSpec::unknown();
    DimSpec tokens = DimSpec::unknown();
    DimSpec key_size = DimSpec::unknown();
    DimSpec value_size = DimSpec::unknown();
    int64_t query_heads = 0;
    int64_t key_heads = 0;
};

Status merge_linear(DimSpec& known, const DimSpec& other, std::string_view what) {
    LEAT_ASSIGN_OR_RETURN(known, merge_dims(known, other, what));
    return {};
}

DimSpec times_heads(int64_t heads, const DimSpec& size) {
    return size.is_fixed() ? multiply_dims(DimSpec(heads), size) : DimSpec::unknown();
}

// The extents of an operand [b, t, heads * size].
Status read_linear_operand(const InferContext& context,
                           int i,
                           int64_t heads,
                           LinearAttentionDims& attention,
                           DimSpec& size) {
    if (!context.input(i).dims) {
        return {};
    }
    const std::string_view name = kLinearAttentionNames[size_t(i)];
    const Dims& dims = *context.input(i).dims;
    LEAT_RETURN_IF_ERROR(merge_linear(attention.batch, dims[0], "the batch of query and others"));
    LEAT_RETURN_IF_ERROR(
        merge_linear(attention.tokens, dims[1], "the number of tokens of query and others"));
    if (!dims[2].is_fixed()) {
        return {};
    }
    if (dims[2].extent() % heads != 0) {
        return invalid_argument("the last axis of {} does not hold whole heads", name)
            .with_found(context.input(i).to_string())
            .with_needed(fmt::format("a multiple of {} heads", heads));
    }
    return merge_linear(size, DimSpec(dims[2].extent() / heads),
                        "the size of the heads of " + std::string(name) + " and others");
}

Status read_linear_past(const InferContext& context, LinearAttentionDims& attention) {
    if (!context.has_input(kLinearPast) || !context.input(kLinearPast).dims) {
        return {};
    }
    const Dims& past = *context.input(kLinearPast).dims;
    DimSpec heads(attention.key_heads);
    LEAT_RETURN_IF_ERROR(merge_linear(attention.batch, past[0], "the batch of past_state"));
    LEAT_RETURN_IF_ERROR(merge_linear(heads, past[1], "the number of key heads of past_state"));
    LEAT_RETURN_IF_ERROR(merge_linear(attention.key_size, past[2], "d_k of past_state"));
    return merge_linear(attention.value_size, past[3], "d_v of past_state");
}

// The last extent of decay and beta may be one of two.
Status check_linear_gate(const InferContext& context,
                         int i,
                         LinearAttentionDims& attention,
                         const DimSpec& other) {
    if (!context.has_input(i) || !context.input(i).dims) {
        return {};
    }
    const Dims& dims = *context.input(i).dims;
    LEAT_RETURN_IF_ERROR(merge_linear(attention.batch, dims[0], "the batch of query and others"));
    LEAT_RETURN_IF_ERROR(
        merge_linear(attention.tokens, dims[1], "the number of tokens of query and others"));
    const bool may_be_other = !other.is_fixed() || dims[2].extent() == other.extent();
    if (dims[2].is_fixed() && dims[2].extent() != attention.key_heads && !may_be_other) {
        return invalid_argument("the last axis of {} has the wrong extent",
                                kLinearAttentionNames[size_t(i)])
            .with_found(context.input(i).to_string())
            .with_needed(fmt::format("{} or {}", attention.key_heads, other.extent()));
    }
    return {};
}

Status check_linear_heads(const NodeData& node, LinearAttentionDims& attention) {
    attention.query_heads = node.attr("q_num_heads", int64_t{0});
    attention.key_heads = node.attr("kv_num_heads", int64_t{0});
    if (attention.query_heads < 1 || attention.key_heads < 1 ||
        attention.query_heads % attention.key_heads != 0) {
        return invalid_argument("the numbers of heads do not fit")
            .with_found(fmt::format("q_num_heads {}, kv_num_heads {}", attention.query_heads,
                                    attention.key_heads))
            .with_needed("a positive multiple of a positive number");
    }
    return {};
}

Status check_linear_input(const InferContext& context, int i) {
    constexpr DTypeSet kTypes = kFloatTypes & ~dtype_set(DType::kFloat64);
    const std::string_view name = kLinearAttentionNames[size_t(i)];
    LEAT_RETURN_IF_ERROR(require_dtype(context, i, kTypes, name));
    LEAT_RETURN_IF_ERROR(require_rank(context, i, i == kLinearPast ? 4 : 3, name));
    return i == kLinearPast ? Status() : require_same_dtype(context, kLinearQuery, i);
}

Status check_linear_types(const InferContext& context) {
    LEAT_ASSIGN_OR_RETURN(const auto rule, LinearAttentionRule::of(context.node()));
    for (const auto& [i, is_needed] :
         {std::pair{int(kLinearDecay), rule.decays}, {kLinearBeta, rule.corrects}}) {
        if (context.has_input(i) != is_needed) {
            return invalid_argument("the update rule '{}' {} input {}",
                                    context.node().attr("update_rule", "gated_delta"),
                                    is_needed ? "needs" : "does not take",
                                    kLinearAttentionNames[size_t(i)]);
        }
    }
    for (int i = 0; i < int(kLinearAttentionNames.size()); ++i) {
        if (context.has_input(i)) {
            LEAT_RETURN_IF_ERROR(check_linear_input(context, i));
        }
    }
    return {};
}

Status infer_linear_attention(InferContext& context) {
    LEAT_RETURN_IF_ERROR(check_linear_types(context));
    LinearAttentionDims attention;
    LEAT_RETURN_IF_ERROR(check_linear_heads(context.node(), attention));
    LEAT_RETURN_IF_ERROR(read_linear_operand(context, kLinearQuery, attention.query_heads,
                                             attention, attention.key_size));
    LEAT_RETURN_IF_ERROR(read_linear_operand(context, kLinearKey, attention.key_heads, attention,
                                             attention.key_size));
    LEAT_RETURN_IF_ERROR(read_linear_operand(context, kLinearValue, attention.key_heads, attention,
                                             attention.value_size));
    LEAT_RETURN_IF_ERROR(read_linear_past(context, attention));
    LEAT_RETURN_IF_ERROR(check_linear_gate(context, kLinearDecay, attention,
                                           times_heads(attention.key_heads, attention.key_size)));
    LEAT_RETURN_IF_ERROR(check_linear_gate(context, kLinearBeta, attention, DimSpec(1)));
    const DType dtype = context.input(kLinearQuery).dtype;
    context.set_output(0, dtype,
                       Dims{attention.batch, attention.tokens,
                            times_heads(attention.query_heads, attention.value_size)});
    if (context.has_output(1)) {
        const bool has_past = context.has_input(kLinearPast);
        context.set_output(1, has_past ? context.input(kLinearPast).dtype : dtype,
                           Dims{attention.batch, DimSpec(attention.key_heads), attention.key_size,
                                attention.value_size});
    }
    return {};
}

Cost linear_attention_cost(const NodeData& /*node*/,
                           std::span<const TensorArg> inputs,
                           std::span<const TensorArg> outputs) {
    const double tokens = double(inputs[0].shape[0]) * double(inputs[0].shape[1]);
    const Shape& state = outputs[1].shape;
    const double state_elements = state.rank() == 4 ? double(state.element_count(1, 4)) : 0;
    return {8 * tokens * state_elements, moved_bytes(inputs, outputs)};
}

bool linear_attention_gives_rows(const ShardArgs& args) {
    for (size_t i = 0; i < args.inputs.size(); ++i) {
        if (args.inputs[i].present() && args.parts[i] != ShardPart::kRows) {
            return false;
        }
    }
    return true;
}

constexpr AttributeSchema kLinearAttentionAttributes[] = {
    {.name = "chunk_size", .kind = AttributeKind::kInt},
    {.name = "kv_num_heads", .kind = AttributeKind::kInt, .is_required = true},
    {.name = "q_num_heads", .kind = AttributeKind::kInt, .is_required = true},
    {.name = "scale", .kind = AttributeKind::kFloat},
    {.name = "update_rule", .kind = AttributeKind::kString},
};

constexpr OpDef kLinearAttentionOps[] = {
    {.name = "LinearAttention",
     .min_inputs = 3,
     .max_inputs = 6,
     .min_outputs = 2,
     .max_outputs = 2,
     .named_outputs = 0b11,
     .attributes = kLinearAttentionAttributes,
     .infer = infer_linear_attention,
     .reference = linear_attention_reference,
     .cost = linear_attention_cost,
     .gives_rows = linear_attention_gives_rows},
};

}  // namespace

Result<LinearAttentionRule> LinearAttentionRule::of(const NodeData& node) {
    const std::string name = node.attr("update_rule", "gated_delta");
    if (name == "linear") {
        return LinearAttentionRule{false, false};
    }
    if (name == "gated") {
        return LinearAttentionRule{true, false};
    }
    if (name == "delta") {
        return LinearAttentionRule{false, true};
    }
    if (name == "gated_delta") {
        return LinearAttentionRule{true, true};
    }
    return invalid_argument("attribute 'update_rule' is no rule")
        .with_found("'" + name + "'")
        .with_needed("'linear', 'gated', 'delta' or 'gated_delta'");
}

std::span<const OpDef> linear_attention_ops() {
    return kLinearAttentionOps;
}

}  // namespace leat
