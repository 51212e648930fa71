#include "ops/unary/unary.h"

#include "base/find_named.h"
#include "base/transformed.h"
#include "ops/elementwise/element_access.h"
#include "ops/elementwise/elementwise.h"
#include "ops/shard_rules.h"

namespace leat {
namespace {

constexpr DTypeSet kSignedNumbers = kFloatTypes | kSignedTypes;

constexpr UnaryOp kUnaryTable[] = {
    {"Abs", kNumericTypes},
    {"Acos", kFloatTypes, 20},
    {"Acosh", kFloatTypes, 20},
    {"Asin", kFloatTypes, 20},
    {"Asinh", kFloatTypes, 20},
    {"Atan", kFloatTypes, 20},
    {"Atanh", kFloatTypes, 20},
    {"BitwiseNot", kIntTypes},
    {"Ceil"},
    {"Celu", kFloatTypes, 14, {{{"alpha", 1.0F}}}},
    {"Cos", kFloatTypes, 16},
    {"Cosh", kFloatTypes, 16},
    {"Elu", kFloatTypes, 14, {{{"alpha", 1.0F}}}},
    {"Erf", kFloatTypes, 16},
    {"Exp", kFloatTypes, 12},
    {"Floor"},
    {"Gelu", kFloatTypes, 20},
    {"HardSigmoid", kFloatTypes, 4, {{{"alpha", 0.2F}, {"beta", 0.5F}}}},
    {"HardSwish", kFloatTypes, 5},
    {"LeakyRelu", kFloatTypes, 2, {{{"alpha", 0.01F}}}},
    {"Log", kFloatTypes, 14},
    {"Mish", kFloatTypes, 20},
    {"Neg", kSignedNumbers},
    {"Reciprocal", kFloatTypes, 4},
    {"Relu", kSignedNumbers},
    {"Round"},
    {"Selu",
     kFloatTypes,
     14,
     {{{"alpha", 1.67326319217681884765625F}, {"gamma", 1.05070102214813232421875F}}}},
    {"Shrink", kNumericTypes, 4, {{{"lambd", 0.5F}, {"bias", 0.0F}}}},
    {"Sigmoid", kFloatTypes, 14},
    {"Sign", kNumericTypes, 2},
    {"Sin", kFloatTypes, 16},
    {"Sinh", kFloatTypes, 16},
    {"Softplus", kFloatTypes, 24},
    {"Softsign", kFloatTypes, 5},
    {"Sqrt", kFloatTypes, 4},
    {"Swish", kFloatTypes, 15, {{{"alpha", 1.0F}}}},
    {"Tan", kFloatTypes, 20},
    {"Tanh", kFloatTypes, 16},
    {"ThresholdedRelu", kFloatTypes, 2, {{{"alpha", 1.0F}}}},
};

Status infer_unary(InferContext& context) {
    const UnaryOp& op = *find_unary(context.node().op_type);
    LEAT_RETURN_IF_ERROR(require_dtype(context, 0, op.dtypes, "X"));
    if (op.name == "Gelu") {
        const std::string approximate = context.node().attr("approximate", "none");
        if (approximate != "none" && approximate != "tanh") {
            return invalid_argument("attribute 'approximate' is unknown")
                .with_found(approximate)
                .with_needed("none or tanh");
        }
    }
    context.set_output(0, context.input(0));
    return {};
}

Cost unary_cost(const NodeData& node,
                std::span<const TensorArg> inputs,
                std::span<const TensorArg> outputs) {
    return elementwise_cost(find_unary(node.op_type)->flops, inputs, outputs);
}

// Those of the row's parameters; Gelu's is no number.
std::vector<AttributeSchema> unary_attributes(const UnaryOp& op) {
    std::vector<AttributeSchema> attributes;
    for (const UnaryParameter& parameter : op.parameters) {
        if (!parameter.name.empty()) {
            attributes.push_back({.name = parameter.name, .kind = AttributeKind::kFloat});
        }
    }
    if (op.name == "Gelu") {
        attributes.push_back({.name = "approximate", .kind = AttributeKind::kString});
    }
    return attributes;
}

}  // namespace

Status unary_reference(const ReferenceArgs& args);

std::span<const UnaryOp> unary_table() {
    return kUnaryTable;
}

const UnaryOp* find_unary(std::string_view op_type) {
    return find_named(kUnaryTable, op_type);
}

UnaryParams unary_params(const UnaryOp& op, const Attributes& attributes) {
    UnaryParams params{};
    for (size_t i = 0; i < op.parameters.size() && !op.parameters[i].name.empty(); ++i) {
        params[i] = float_attribute(attributes, op.parameters[i].name, op.parameters[i].fallback);
    }
    if (op.name == "Gelu") {
        const auto found = attributes.find("approximate");
        const auto* text =
            found == attributes.end() ? nullptr : std::get_if<std::string>(&found->second);
        params[0] = text != nullptr && *text == "tanh" ? 1.0F : 0.0F;
    }
    return params;
}

std::span<const OpDef> unary_ops() {
    static const std::vector<std::vector<AttributeSchema>> kAttributes =
        transformed(kUnaryTable, unary_attributes);
    static const std::vector<OpDef> kOps = transformed(kUnaryTable, [](const UnaryOp& op) {
        return OpDef{.name = op.name,
                     .attributes = kAttributes[size_t(&op - kUnaryTable)],
                     .infer = infer_unary,
                     .reference = unary_reference,
                     .cost = unary_cost,
                     .in_place_inputs = 1,
                     .gives_rows = rows_of_first_input,
                     .layout_rule = LayoutRule::kAgnostic,
                     .type_rule = TypeRule::kFirst,
                     .fusible_epilogue = (op.dtypes & kFloatTypes) != 0};
    });
    return kOps;
}

}  // namespace leat
