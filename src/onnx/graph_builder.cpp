#include "onnx/graph_builder.h"

#include <utility>

#include "graph/default_input.h"

namespace leat::onnx {
namespace {

// Shape operands are small; larger constants tell inference nothing.
constexpr int64_t kMaxKnownElements = 64;

// Inference reads typed elements, so they must be aligned.
std::optional<Tensor> known_elements(const Tensor& constant) {
    if (constant.element_count() > kMaxKnownElements) {
        return std::nullopt;
    }
    Result<Tensor> known = aligned(constant);
    return known.ok() ? std::optional(*std::move(known)) : std::nullopt;
}

}  // namespace

GraphBuilder::GraphBuilder(GraphBuilder* outer, bool track_types, const OperatorSource* operators)
    : graph_(std::make_unique<GraphData>()),
      outer_(outer),
      operators_(outer == nullptr ? operators : outer->operators_),
      track_types_(track_types) {}

void GraphBuilder::reserve(size_t values, size_t nodes) {
    graph_->values.reserve(graph_->values.size() + values);
    graph_->nodes.reserve(graph_->nodes.size() + nodes);
    names_.reserve(graph_->values.size() + values);
}

bool GraphBuilder::is_taken(std::string_view name) const {
    const size_t hash = std::hash<std::string_view>()(name);
    for (const GraphBuilder* builder = this; builder != nullptr; builder = builder->outer_) {
        const std::vector<ValueData>& values = builder->graph_->values;
        const auto has_name = [&](uint32_t value) { return values[value].name == name; };
        if (builder->names_.find(hash, has_name) != HashIndex::kNone) {
            return true;
        }
    }
    return false;
}

// Of the last value.
void GraphBuilder::add_name() {
    const std::string_view name = graph_->values.back().name;
    names_.insert(std::hash<std::string_view>()(name), uint32_t(graph_->values.size() - 1));
}

std::string GraphBuilder::unique_name(std::string_view name) {
    std::string stem(name.empty() ? std::string_view("value") : name);
    if (!is_taken(stem)) {
        return stem;
    }
    int& number = numbers_[stem];
    std::string candidate;
    do {
        candidate = stem + "_" + std::to_string(++number);
    } while (is_taken(candidate));
    return candidate;
}

ValueId GraphBuilder::add_value(std::string_view name, TypeInfo type) {
    if (track_types_) {
        facts_.emplace_back().type = type;
    }
    ValueData value;
    value.name = unique_name(name);
    value.type = std::move(type);
    graph_->values.push_back(std::move(value));
    add_name();
    return {int32_t(graph_->values.size() - 1)};
}

ValueId GraphBuilder::add_constant(std::string_view name, Tensor tensor) {
    const ValueId id = add_value(name, {});
    set_constant(id, std::move(tensor));
    return id;
}

ValueId GraphBuilder::capture(GraphBuilder& from, ValueId value) {
    if (this == &from) {
        return value;
    }
    const ValueId outside = outer_->capture(from, value);
    const auto [found, is_new] = captured_.try_emplace(outside.index);
    if (!is_new) {
        return found->second;
    }
    const ValueId id{int32_t(graph_->values.size())};
    const ValueData& original = outer_->graph_->value(outside);
    ValueData& inside = graph_->values.emplace_back();
    inside.name = original.name;
    inside.type = original.type;
    if (track_types_) {
        facts_.emplace_back().type = outer_->type_of(outside);
    }
    add_name();
    if (original.constant && find_default_input(*outer_->graph_, original.name) == nullptr) {
        set_constant(id, *original.constant);
    } else {
        graph_->captures.push_back({id, outside});
    }
    found->second = id;
    return id;
}

void GraphBuilder::set_constant(ValueId id, Tensor tensor) {
    ValueData& value = graph_->value(id);
    value.type = TypeInfo::tensor(tensor.dtype(), tensor.shape());
    if (track_types_) {
        facts_[size_t(id.index)].type = value.type;
        facts_[size_t(id.index)].value = known_elements(tensor);
    }
    value.constant = std::move(tensor);
}

void GraphBuilder::open_constant(ValueId id, const TypeInfo& type) {
    if (track_types_) {
        facts_[size_t(id.index)] = {};
        facts_[size_t(id.index)].type = type;
    }
}

void GraphBuilder::add_node(NodeData node) {
    const NodeId id{int32_t(graph_->nodes.size())};
    node.def = find_op(node.domain, node.op_type);
    for (size_t i = 0; i < node.outputs.size(); ++i) {
        if (node.outputs[i].valid()) {
            ValueData& output = graph_->value(node.outputs[i]);
            output.producer = id;
            output.output_index = int32_t(i);
        }
    }
    if (track_types_) {
        infer(node);
    }
    graph_->nodes.push_back(std::move(node));
}

const OpDef* GraphBuilder::known_operator(const NodeData& node) const {
    if (node.def != nullptr || operators_ == nullptr) {
        return node.def;
    }
    const Result<const OpDef*> found = operators_->find(node.domain, node.op_type, node.opset);
    return found.ok() ? *found : nullptr;
}

// What is wrong with a node is reported later, by verify(); here it only leaves types unknown.
void GraphBuilder::infer(NodeData& node) {
    const OpDef* def = known_operator(node);
    if (def == nullptr || def->infer == nullptr) {
        return;
    }
    std::vector<const ValueFact*> inputs;
    for (const ValueId id : node.inputs) {
        inputs.push_back(id.valid() ? &facts_[size_t(id.index)] : nullptr);
        if (id.valid() && inputs.back()->type.dtype == DType::kUndefined) {
            return;
        }
    }
    // A custom operator may live shorter than the graph.
    const OpDef* own = std::exchange(node.def, def);
    drop_absent_outputs(node);
    std::vector<ValueFact> outputs(node.outputs.size());
    const bool is_inferred = infer_node(node, inputs, outputs).ok();
    node.def = own;
    if (!is_inferred) {
        return;
    }
    for (size_t i = 0; i < outputs.size(); ++i) {
        if (!node.outputs[i].valid() || outputs[i].type.dtype == DType::kUndefined) {
            continue;
        }
        ValueFact& fact = facts_[size_t(node.outputs[i].index)];
        if (!outputs[i].type.dims) {
            outputs[i].type.dims = fact.type.dims;
        }
        fact = std::move(outputs[i]);
    }
}

const TypeInfo& GraphBuilder::type_of(ValueId id) const {
    return track_types_ ? facts_[size_t(id.index)].type : graph_->value(id).type;
}

}  // namespace leat::onnx
