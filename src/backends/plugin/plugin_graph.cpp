#include "backends/plugin/plugin_graph.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "base/transformed.h"
#include "graph/dim_symbol.h"
#include "graph/plugin_attribute.h"
#include "leat/plugin_backend.h"

namespace leat {
namespace {

template <class Table>
auto* add_row(Table& table) {
    using Row = typename Table::value_type;
    return &table.emplace_back(plugin::made<Row>());
}

}  // namespace

Result<std::unique_ptr<PluginGraph>> PluginGraph::make(const GraphData& graph,
                                                       PluginConstants& constants) {
    std::unique_ptr<PluginGraph> made(new PluginGraph(graph, constants));
    LEAT_RETURN_IF_ERROR(made->build({}));
    return made;
}

// captured: what the last inputs of a body are in the graph around.
Status PluginGraph::build(std::span<const ValueId> captured) {
    const auto inputs = std::span(graph_.inputs).first(graph_.inputs.size() - captured.size());
    add_symbols();
    for (const ValueData& value : graph_.values) {
        LEAT_RETURN_IF_ERROR(add_value(value));
    }
    for (size_t k = 0; k < captured.size(); ++k) {
        values_[size_t(graph_.inputs[inputs.size() + k].index)].outer_value = captured[k].index;
    }
    for (const NodeData& node : graph_.nodes) {
        LEAT_RETURN_IF_ERROR(add_node(node));
    }
    view_ = plugin::made<LeatGraphView>();
    view_.name = graph_.name.c_str();
    view_.symbol_count = int32_t(symbol_rows_.size());
    view_.symbols = symbol_rows_.data();
    view_.value_count = int32_t(value_rows_.size());
    view_.values = value_rows_.data();
    view_.node_count = int32_t(node_rows_.size());
    view_.nodes = node_rows_.data();
    view_.input_count = int32_t(inputs.size());
    view_.inputs = ids_of(inputs);
    view_.output_count = int32_t(graph_.outputs.size());
    view_.outputs = ids_of(graph_.outputs);
    return {};
}

void PluginGraph::add_symbols() {
    for (size_t i = 0; i < graph_.inputs.size(); ++i) {
        const ValueData& input = graph_.value(graph_.inputs[i]);
        for (int axis = 0; axis < input.type.rank(); ++axis) {
            const DimSpec& dim = (*input.type.dims)[size_t(axis)];
            if (dim.is_fixed()) {
                continue;
            }
            const DimSpec named = dim.name().empty() ? axis_dim(input.name, size_t(axis)) : dim;
            const auto [at, is_new] =
                symbol_of_key_.try_emplace(dim_key(named), int32_t(symbols_.size()));
            if (is_new) {
                LeatSymbolView* symbol = add_row(symbols_);
                symbol->name = names_.emplace_back(symbol_name(named.name())).c_str();
                symbol->max_extent = -1;
                symbol_rows_.push_back(symbol);
                sources_.push_back({int32_t(i), axis});
            }
        }
    }
}

// Backends tell symbols apart by their names, and extents that differ may have the same.
std::string PluginGraph::symbol_name(const std::string& text) const {
    std::string name = text;
    const auto is_taken = [&](const LeatSymbolView* symbol) { return name == symbol->name; };
    while (std::any_of(symbol_rows_.begin(), symbol_rows_.end(), is_taken)) {
        name.push_back('\'');
    }
    return name;
}

LeatDim PluginGraph::dim_of(const DimSpec& dim) const {
    if (dim.is_fixed()) {
        return {dim.extent(), -1};
    }
    const auto found = symbol_of_key_.find(dim_key(dim));
    return {-1, found == symbol_of_key_.end() ? -1 : found->second};
}

Status PluginGraph::add_value(const ValueData& value) {
    LeatValueView* row = add_row(values_);
    value_rows_.push_back(row);
    row->name = value.name.c_str();
    row->dtype = value.type.is_tensor() ? int32_t(value.type.dtype) : 0;
    row->rank = value.type.is_tensor() ? value.type.rank() : -1;
    row->max_elements = -1;
    row->outer_value = -1;
    if (row->rank >= 0) {
        std::vector<LeatDim>& dims = dims_.emplace_back();
        dims.reserve(size_t(row->rank));
        for (size_t axis = 0; axis < size_t(row->rank); ++axis) {
            const DimSpec& dim = (*value.type.dims)[axis];
            dims.push_back(dim_of(dim));
            // An open extent of an input has a symbol of the input's own.
            if (!dim.is_fixed() && dim.name().empty()) {
                dims.back() = dim_of(axis_dim(value.name, axis));
            }
        }
        row->dims = dims.data();
        const std::optional<Shape> shape = value.type.fixed_shape();
        row->max_elements = shape ? shape->element_count() : -1;
    }
    if (value.constant && value.constant->dtype() != DType::kString) {
        LeatConstantView* constant = add_row(constants_);
        LEAT_ASSIGN_OR_RETURN(const PluginConstants::Entry* entry,
                              constant_memory_.of(*value.constant));
        constant->tensor = tensor_of(*value.constant, *entry);
        constant->content_hash = entry->content_hash;
        row->constant = constant;
    }
    return {};
}

const LeatTensorView* PluginGraph::tensor_of(const Tensor& tensor,
                                             const PluginConstants::Entry& memory) {
    LeatTensorView* row = add_row(tensors_);
    row->dtype = int32_t(tensor.dtype());
    row->rank = tensor.shape().rank();
    row->extents = tensor.shape().begin();
    row->data = const_cast<std::byte*>(memory.tensor.bytes());
    row->bytes = tensor.byte_count();
    return row;
}

const int32_t* PluginGraph::ids_of(std::span<const ValueId> ids) {
    return ids_.emplace_back(transformed(ids, &ValueId::index)).data();
}

Status PluginGraph::add_node(const NodeData& node) {
    LeatNodeView* row = add_row(nodes_);
    node_rows_.push_back(row);
    row->name = node.name.c_str();
    row->domain = node.domain.c_str();
    row->op_type = node.op_type.c_str();
    const std::span<const ValueId> captured = std::span(node.inputs).last(node.captured_count());
    row->input_count = int32_t(node.inputs.size() - captured.size());
    row->inputs = ids_of(std::span(node.inputs).first(size_t(row->input_count)));
    row->output_count = int32_t(node.outputs.size());
    row->outputs = ids_of(node.outputs);
    std::vector<const LeatAttributeView*>& attributes = attribute_lists_.emplace_back();
    attributes.reserve(node.attributes.size());
    std::vector<const LeatSubgraphView*>& bodies = subgraph_lists_.emplace_back();
    for (const auto& [name, value] : node.attributes) {
        if (const auto* body = std::get_if<Graph>(&value)) {
            LEAT_ASSIGN_OR_RETURN(const LeatSubgraphView* view,
                                  body_of(name, body->data(), captured));
            bodies.push_back(view);
            continue;
        }
        const auto* tensor = std::get_if<Tensor>(&value);
        if (tensor != nullptr && tensor->dtype() == DType::kString) {
            continue;  // plugins know no strings: no device gets the node
        }
        LEAT_ASSIGN_OR_RETURN(const LeatAttributeView* attribute, attribute_of(name, value));
        attributes.push_back(attribute);
    }
    row->attribute_count = int32_t(attributes.size());
    row->attributes = attributes.data();
    row->subgraph_count = int32_t(bodies.size());
    row->subgraphs = bodies.data();
    return {};
}

Result<const LeatSubgraphView*> PluginGraph::body_of(const std::string& name,
                                                     const GraphData& body,
                                                     std::span<const ValueId> captured) {
    std::unique_ptr<PluginGraph> inner(new PluginGraph(body, constant_memory_));
    LEAT_RETURN_IF_ERROR(inner->build(captured));
    LeatSubgraphView* view = add_row(subgraphs_);
    view->name = name.c_str();
    view->graph = &inner->view_;
    bodies_.push_back(std::move(inner));
    return view;
}

Result<const LeatAttributeView*> PluginGraph::attribute_of(const std::string& name,
                                                           const AttributeValue& value) {
    LeatAttributeView* row = add_row(attributes_);
    *row = plugin_attribute(name, value, texts_.emplace_back());
    if (const auto* tensor = std::get_if<Tensor>(&value)) {
        LEAT_ASSIGN_OR_RETURN(const PluginConstants::Entry* entry, constant_memory_.of(*tensor));
        row->tensor = tensor_of(*tensor, *entry);
    }
    return row;
}

}  // namespace leat
