#include "ops/causal_conv/causal_conv.h"

#include "ops/elementwise/element_access.h"
#include "ops/movement/extents.h"
#include "ops/shard_rules.h"
#include "ops/type_checks.h"

namespace leat {
namespace {

// What inference knows of the extents of the problem.
struct CausalConvDims {
    DimSpec batch = DimSpec::unknown();
    DimSpec channels = DimSpec::unknown();
    DimSpec length = DimSpec::unknown();
    DimSpec kernel = DimSpec::unknown();
};

Status merge_causal(DimSpec& known, const DimSpec& other, std::string_view what) {
    LEAT_ASSIGN_OR_RETURN(known, merge_dims(known, other, what));
    return {};
}

Status read_causal_weight(const InferContext& context, CausalConvDims& conv) {
    const TypeInfo& weight = context.input(1);
    if (!weight.dims) {
        return {};
    }
    const Dims& dims = *weight.dims;
    if ((dims[1].is_fixed() && dims[1].extent() != 1) || dims[2].extent() == 0) {
        return invalid_argument("weight has the wrong shape")
            .with_found(weight.to_string())
            .with_needed("[channels, 1, k] with k >= 1");
    }
    conv.kernel = dims[2];
    return merge_causal(conv.channels, dims[0], "the number of channels of input and weight");
}

// k - 1; a name of its own would say nothing.
DimSpec causal_state_length(const DimSpec& kernel) {
    return kernel.is_fixed() ? DimSpec(kernel.extent() - 1) : DimSpec::unknown();
}

Status read_causal_past(const InferContext& context, CausalConvDims& conv, DimSpec& length) {
    if (!context.has_input(3) || !context.input(3).dims) {
        return {};
    }
    const Dims& past = *context.input(3).dims;
    LEAT_RETURN_IF_ERROR(merge_causal(conv.batch, past[0], "the batch of input and past_state"));
    LEAT_RETURN_IF_ERROR(
        merge_causal(conv.channels, past[1], "the number of channels of input and past_state"));
    return merge_causal(length, past[2], "the length of past_state and k - 1");
}

Status infer_causal_conv(InferContext& context) {
    constexpr DTypeSet kTypes = kFloatTypes & ~dtype_set(DType::kFloat64);
    LEAT_RETURN_IF_ERROR(require_dtype(context, 0, kTypes, "input"));
    LEAT_RETURN_IF_ERROR(require_rank(context, 0, 3, "input"));
    LEAT_RETURN_IF_ERROR(require_rank(context, 1, 3, "weight"));
    LEAT_RETURN_IF_ERROR(require_same_dtype(context, 0, 1));
    for (const int i : {2, 3}) {
        if (context.has_input(i)) {
            LEAT_RETURN_IF_ERROR(require_same_dtype(context, 0, i));
            LEAT_RETURN_IF_ERROR(
                require_rank(context, i, i == 2 ? 1 : 3, i == 2 ? "bias" : "past_state"));
        }
    }
    const std::string activation = context.node().attr("activation", "none");
    if (activation != "none" && activation != "silu" && activation != "swish") {
        return invalid_argument("attribute 'activation' is no activation")
            .with_found("'" + activation + "'")
            .with_needed("'none', 'silu' or 'swish'");
    }
    CausalConvDims conv;
    if (context.input(0).dims) {
        const Dims& x = *context.input(0).dims;
        conv = {x[0], x[1], x[2], DimSpec::unknown()};
    }
    LEAT_RETURN_IF_ERROR(read_causal_weight(context, conv));
    if (context.has_input(2) && context.input(2).dims) {
        LEAT_RETURN_IF_ERROR(merge_causal(conv.channels, context.input(2).dims->front(),
                                          "the number of channels of input and bias"));
    }
    DimSpec past = causal_state_length(conv.kernel);
    LEAT_RETURN_IF_ERROR(read_causal_past(context, conv, past));
    const DType dtype = context.input(0).dtype;
    context.set_output(0, dtype, Dims{conv.batch, conv.channels, conv.length});
    if (context.has_output(1)) {
        context.set_output(1, dtype, Dims{conv.batch, conv.channels, past});
    }
    return {};
}

Cost causal_conv_cost(const NodeData& /*node*/,
                      std::span<const TensorArg> inputs,
                      std::span<const TensorArg> outputs) {
    return {2.0 * double(inputs[0].shape.element_count()) * double(inputs[1].shape[2]),
            moved_bytes(inputs, outputs)};
}

bool causal_conv_gives_rows(const ShardArgs& args) {
    const bool has_past = find_arg(args.inputs, 3) != nullptr;
    return args.parts[0] == ShardPart::kRows && args.parts[1] == ShardPart::kWhole &&
           (args.parts.size() < 3 || args.parts[2] == ShardPart::kWhole) &&
           (!has_past || args.parts[3] == ShardPart::kRows);
}

constexpr AttributeSchema kCausalConvAttributes[] = {
    {.name = "activation", .kind = AttributeKind::kString},
};

constexpr OpDef kCausalConvOps[] = {
    {.name = "CausalConvWithState",
     .min_inputs = 2,
     .max_inputs = 4,
     .min_outputs = 2,
     .max_outputs = 2,
     .named_outputs = 0b11,
     .attributes = kCausalConvAttributes,
     .infer = infer_causal_conv,
     .reference = causal_conv_reference,
     .cost = causal_conv_cost,
     .gives_rows = causal_conv_gives_rows},
};

}  // namespace

std::span<const OpDef> causal_conv_ops() {
    return kCausalConvOps;
}

}  // namespace leat
