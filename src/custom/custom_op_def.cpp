#include "custom/custom_op_def.h"

#include <algorithm>
#include <utility>

#include "base/find_named.h"
#include "base/transformed.h"
#include "custom/custom_inference.h"
#include "custom/custom_kernel.h"
#include "custom/guarded_call.h"
#include "ops/roofline.h"

namespace leat {
namespace {

// Operands that every node has, so that the common check can name one that is missing.
int leading_required(const std::vector<OperandSpec>& operands) {
    const auto optional = std::find_if(operands.begin(), operands.end(),
                                       [](const OperandSpec& spec) { return spec.is_optional; });
    return int(optional - operands.begin());
}

int most_operands(const std::vector<OperandSpec>& operands) {
    const bool is_open = !operands.empty() && operands.back().is_variadic;
    return is_open ? -1 : int(operands.size());
}

uint32_t named_output_bits(const CustomOperator& schema) {
    uint32_t bits = 0;
    for (size_t i = 0; i < schema.outputs.size() && i < 32; ++i) {
        const OperandSpec& output = schema.outputs[i];
        bits |= output.is_optional || output.is_variadic ? 0 : 1U << i;
    }
    return bits;
}

uint32_t shape_input_bits(const CustomOperator& schema) {
    uint32_t bits = 0;
    for (size_t i = 0; i < schema.inputs.size() && i < 32; ++i) {
        bits |= schema.inputs[i].decides_shape ? 1U << i : 0;
    }
    return bits;
}

uint32_t in_place_bits(const CustomOperator& schema) {
    uint32_t bits = 0;
    for (const int i : schema.in_place_inputs) {
        bits |= 1U << uint32_t(i);
    }
    return bits;
}

// OpDef::cost has no errors. Placement asks it with shapes that it assumes; a wrong answer for
// those that run is an error of their plan.
Cost cost_of_custom(const NodeData& node,
                    std::span<const TensorArg> inputs,
                    std::span<const TensorArg> outputs) {
    const Result<Cost> cost = custom::checked_cost(node, inputs, outputs);
    return cost.ok() ? *cost : plain_work(inputs, outputs);
}

}  // namespace

CustomOpDef::CustomOpDef(CustomOperator described,
                         std::string from,
                         std::shared_ptr<const void> shared_object)
    : library(std::move(shared_object)), schema(std::move(described)), source(std::move(from)) {
    name = schema.name;
    domain = schema.domain;
    min_inputs = leading_required(schema.inputs);
    max_inputs = most_operands(schema.inputs);
    min_outputs = leading_required(schema.outputs);
    max_outputs = most_operands(schema.outputs);
    named_outputs = named_output_bits(schema);
    for (const AttributeSpec& spec : schema.attributes) {
        attribute_schemas.push_back(
            {.name = spec.name, .kind = AttributeKind(spec.type), .is_required = spec.is_required});
    }
    attributes = attribute_schemas;
    infer = custom::infer_custom;
    reference = schema.kernels.empty() ? nullptr : custom::run_custom_reference;
    cost = schema.cost ? cost_of_custom : nullptr;
    shape_inputs = shape_input_bits(schema);
    in_place_inputs = in_place_bits(schema);
    nondeterministic = !schema.is_deterministic;
}

std::string CustomOpDef::label() const {
    return fmt::format("{}.{} version {}", schema.domain, schema.name, schema.since_version);
}

const OperatorKernel* CustomOpDef::host_kernel(std::string_view backend) const {
    const auto found = schema.kernels.find(backend);
    if (found != schema.kernels.end()) {
        return &found->second;
    }
    return schema.kernels.empty() ? nullptr : &schema.kernels.begin()->second;
}

namespace custom {

const CustomOpDef* find_custom(const OpDef* def) {
    const bool is_custom = def != nullptr && def->infer == infer_custom;
    return is_custom ? static_cast<const CustomOpDef*>(def) : nullptr;
}

const CustomOpDef& custom_of(const NodeData& node) {
    return static_cast<const CustomOpDef&>(*node.def);
}

Result<Cost> checked_cost(const NodeData& node,
                          std::span<const TensorArg> inputs,
                          std::span<const TensorArg> outputs) {
    const CustomOperator& schema = custom_of(node).schema;
    if (!schema.cost) {
        return plain_work(inputs, outputs);
    }
    const std::vector<TensorView> from = views_of(inputs);
    const std::vector<TensorView> to = views_of(outputs);
    const NodeOfCustom view(node);
    OperatorCost found;
    LEAT_RETURN_IF_ERROR(guarded("the cost callback", [&] {
        found = schema.cost(OperatorCall{view, from, to});
        return Status();
    }));
    const bool is_cost = found.flops >= 0 && found.flops <= OperatorCost::kMostFlops &&
                         found.bytes >= 0 && found.bytes <= OperatorCost::kMostBytes;
    if (!is_cost) {
        return invalid_argument("the cost callback gives no cost")
            .with_found(fmt::format("{} flops and {} bytes", found.flops, found.bytes))
            .with_needed(fmt::format("0 to {:g} flops, and 0 to {} bytes", OperatorCost::kMostFlops,
                                     OperatorCost::kMostBytes));
    }
    return Cost{found.flops, found.bytes};
}

void add_defaults(NodeData& node) {
    for (const AttributeSpec& spec : custom_of(node).schema.attributes) {
        if (spec.default_value) {
            node.attributes.try_emplace(spec.name, *spec.default_value);
        }
    }
}

const AttributeValue* NodeOfCustom::attribute(std::string_view attribute_name) const {
    if (const auto own = node_.attributes.find(attribute_name); own != node_.attributes.end()) {
        return &own->second;
    }
    const AttributeSpec* spec = find_named(custom_of(node_).schema.attributes, attribute_name);
    return spec != nullptr && spec->default_value ? &*spec->default_value : nullptr;
}

TensorView view_of(const TensorArg& arg) {
    return {arg.dtype, arg.shape, arg.data};
}

std::vector<TensorView> views_of(std::span<const TensorArg> args) {
    return transformed(args, view_of);
}

}  // namespace custom
}  // namespace leat
