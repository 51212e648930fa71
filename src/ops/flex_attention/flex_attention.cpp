#include "ops/flex_attention/flex_attention.h"

#include "graph/bodies.h"
#include "ops/control_flow/control_flow.h"
#include "ops/elementwise/element_access.h"
#include "ops/movement/extents.h"
#include "ops/type_checks.h"

namespace leat {
namespace {

constexpr std::array<std::string_view, 3> kFlexAttentionNames = {"Q", "K", "V"};

struct FlexAttentionDims {
    DimSpec batch = DimSpec::unknown();
    DimSpec query_heads = DimSpec::unknown();
    DimSpec key_heads = DimSpec::unknown();
    DimSpec queries = DimSpec::unknown();
    DimSpec keys = DimSpec::unknown();
    DimSpec head_size = DimSpec::unknown();
    DimSpec value_size = DimSpec::unknown();
};

Status read_flex_operand(const InferContext& context, int i, const std::array<DimSpec*, 4>& known) {
    const std::string name(kFlexAttentionNames[size_t(i)]);
    LEAT_RETURN_IF_ERROR(require_dtype(context, i, kFloatTypes, name));
    LEAT_RETURN_IF_ERROR(require_same_dtype(context, 0, i));
    LEAT_RETURN_IF_ERROR(require_rank(context, i, 4, name));
    for (size_t axis = 0; context.input(i).dims && axis < known.size(); ++axis) {
        LEAT_ASSIGN_OR_RETURN(*known[axis],
                              merge_dims(*known[axis], (*context.input(i).dims)[axis],
                                         fmt::format("axis {} of {} and others", axis, name)));
    }
    return {};
}

Result<FlexAttentionDims> flex_attention_dims(const InferContext& context) {
    FlexAttentionDims d;
    LEAT_RETURN_IF_ERROR(
        read_flex_operand(context, 0, {&d.batch, &d.query_heads, &d.queries, &d.head_size}));
    LEAT_RETURN_IF_ERROR(
        read_flex_operand(context, 1, {&d.batch, &d.key_heads, &d.keys, &d.head_size}));
    LEAT_RETURN_IF_ERROR(
        read_flex_operand(context, 2, {&d.batch, &d.key_heads, &d.keys, &d.value_size}));
    const int64_t query_heads = d.query_heads.extent();
    const int64_t key_heads = d.key_heads.extent();
    const bool is_multiple = key_heads > 0 ? query_heads % key_heads == 0 : query_heads == 0;
    if (query_heads >= 0 && key_heads >= 0 && !is_multiple) {
        return invalid_argument("the numbers of heads do not fit")
            .with_found(fmt::format("{} of Q, {} of K and V", query_heads, key_heads))
            .with_needed("a multiple");
    }
    return d;
}

// Gives a modifier what it sees; its result has to be as that.
Status infer_modifier(const InferContext& context, std::string_view key, const TypeInfo& scores) {
    const GraphData* body = context.node().body(key);
    if (body == nullptr) {
        return {};
    }
    const size_t own = own_input_count(context.node(), *body);
    if (own != 1 || body->outputs.size() != 1) {
        return invalid_argument("the body '{}' is no modifier", key)
            .with_found(fmt::format("{} inputs, {} outputs", own, body->outputs.size()))
            .with_needed("1 input, 1 output");
    }
    const std::vector<ValueFact> given{ValueFact(scores)};
    LEAT_ASSIGN_OR_RETURN(const std::vector<ValueFact> results, infer_body(context, key, given));
    const TypeInfo& result = results[0].type;
    bool fits = result.is_tensor() &&
                (result.dtype == scores.dtype || result.dtype == DType::kUndefined) &&
                (!result.dims || result.rank() == 4);
    for (size_t axis = 0; fits && result.dims && axis < 4; ++axis) {
        fits = merge_dims((*result.dims)[axis], (*scores.dims)[axis], "an extent").ok();
    }
    if (!fits) {
        return invalid_argument("the result of '{}' has another type than what it is given", key)
            .with_found(result.to_string())
            .with_needed(scores.to_string());
    }
    return {};
}

Status infer_flex_attention(InferContext& context) {
    LEAT_ASSIGN_OR_RETURN(const FlexAttentionDims d, flex_attention_dims(context));
    const DType dtype = context.input(0).dtype;
    LEAT_ASSIGN_OR_RETURN(const DType precision, flex_attention_precision(context.node(), dtype));
    const float scale = context.node().attr("scale", 1.0F);
    if (!(scale >= 0)) {
        return invalid_argument("attribute 'scale' has no root")
            .with_found(fmt::format("{}", scale))
            .with_needed("0 or more");
    }
    const TypeInfo scores =
        TypeInfo::tensor(precision, Dims{d.batch, d.query_heads, d.queries, d.keys});
    LEAT_RETURN_IF_ERROR(infer_modifier(context, "score_mod", scores));
    LEAT_RETURN_IF_ERROR(infer_modifier(context, "prob_mod", scores));
    context.set_output(0, dtype, Dims{d.batch, d.query_heads, d.queries, d.value_size});
    return {};
}

Cost flex_attention_cost(const NodeData& /*node*/,
                         std::span<const TensorArg> inputs,
                         std::span<const TensorArg> outputs) {
    const double scores = double(inputs[0].shape.element_count(0, 3)) * double(inputs[1].shape[2]);
    const double sizes = double(inputs[0].shape[3]) + double(inputs[2].shape[3]);
    return {scores * (2 * sizes + 8), moved_bytes(inputs, outputs)};
}

std::optional<int64_t> flex_attention_iterations(const InferContext& /*context*/) {
    return 1;
}

constexpr AttributeSchema kFlexAttentionAttributes[] = {
    {.name = "prob_mod", .kind = AttributeKind::kGraph},
    {.name = "scale", .kind = AttributeKind::kFloat},
    {.name = "score_mod", .kind = AttributeKind::kGraph},
    {.name = "softmax_precision", .kind = AttributeKind::kInt},
};

constexpr OpDef kFlexAttentionOps[] = {
    {.name = "FlexAttention",
     .domain = "ai.onnx.preview",
     .min_inputs = 3,
     .max_inputs = 3,
     .attributes = kFlexAttentionAttributes,
     .infer = infer_flex_attention,
     .reference = flex_attention_reference,
     .cost = flex_attention_cost,
     .iterations = flex_attention_iterations},
};

}  // namespace

Result<DType> flex_attention_precision(const NodeData& node, DType q) {
    const DType usual = q == DType::kFloat64 ? q : DType::kFloat32;
    const int64_t number = node.attr("softmax_precision", int64_t(usual));
    const DType precision = dtype_from_number(number);
    if (!contains(kFloatTypes, precision)) {
        return invalid_argument("attribute 'softmax_precision' is not a floating type")
            .with_found(fmt::format("{}", number))
            .with_needed("1 (f32), 10 (f16), 11 (f64) or 16 (bf16)");
    }
    return precision;
}

std::span<const OpDef> flex_attention_ops() {
    return kFlexAttentionOps;
}

}  // namespace leat
