#include "backends/lowered/plugin_graph.h"

#include <cstring>
#include <utility>

#include "backends/lowered/failure.h"
#include "base/transformed.h"
#include "graph/op_def.h"

namespace leat::lowered {
namespace {

TypeInfo type_of(const LeatTensorView& view) {
    const std::optional<Shape> shape = Shape::make({view.extents, size_t(view.rank)});
    const auto dtype = DType(view.dtype);
    if (!shape || view.dtype <= 0 || view.dtype >= kDTypeCount || dtype == DType::kString) {
        plugin::invalid_argument("a constant of a type or shape that no graph holds");
    }
    const int64_t bytes = storage_bytes(dtype, shape->element_count()).value_or(-1);
    if (bytes != view.bytes) {
        plugin::invalid_argument(
            fmt::format("a constant of {} bytes; its shape needs {}", view.bytes, bytes));
    }
    return TypeInfo::tensor(dtype, *shape);
}

Tensor copy_of(const LeatTensorView& view) {
    const TypeInfo type = type_of(view);
    Result<Tensor> tensor = Tensor::allocate(type.dtype, *type.fixed_shape());
    throw_if(tensor.error());
    std::memcpy(tensor->mutable_bytes(), view.data, size_t(view.bytes));
    return *std::move(tensor);
}

DimSpec import_dim(const LeatDim& dim, const LeatGraphView& graph) {
    if (dim.extent >= 0) {
        return {dim.extent};
    }
    return dim.symbol >= 0 ? DimSpec(graph.symbols[dim.symbol]->name) : DimSpec::unknown();
}

ValueData import_value(const LeatValueView& view,
                       const LeatGraphView& graph,
                       int64_t max_kept_bytes) {
    ValueData value;
    value.name = view.name;
    value.type.dtype = DType(view.dtype);
    if (view.rank >= 0) {
        value.type.dims = transformed(std::span(view.dims, size_t(view.rank)),
                                      [&](const LeatDim& dim) { return import_dim(dim, graph); });
    }
    if (view.constant != nullptr) {
        const LeatTensorView& tensor = *view.constant->tensor;
        value.type = type_of(tensor);
        if (tensor.bytes <= max_kept_bytes) {
            value.constant = copy_of(tensor);
        }
    }
    return value;
}

AttributeValue import_attribute(const LeatAttributeView& view) {
    const auto count = size_t(view.count);
    switch (view.kind) {
        case kLeatAttributeInts:
            return view.is_list != 0
                       ? AttributeValue(std::vector<int64_t>(view.ints, view.ints + count))
                       : AttributeValue(view.ints[0]);
        case kLeatAttributeFloats:
            return view.is_list != 0
                       ? AttributeValue(std::vector<float>(view.floats, view.floats + count))
                       : AttributeValue(view.floats[0]);
        case kLeatAttributeStrings:
            return view.is_list != 0 ? AttributeValue(std::vector<std::string>(
                                           view.strings, view.strings + count))
                                     : AttributeValue(std::string(view.strings[0]));
        case kLeatAttributeTensor:
            return copy_of(*view.tensor);
        default:
            plugin::invalid_argument(
                fmt::format("attribute '{}' of kind {}", view.name, view.kind));
    }
}

std::vector<ValueId> ids_of(plugin::View<int32_t> values) {
    return transformed(values, [](int32_t value) { return ValueId{value}; });
}

}  // namespace

NodeData import_node(const LeatNodeView& view) {
    NodeData node;
    node.name = view.name;
    node.domain = view.domain;
    node.op_type = view.op_type;
    node.def = find_op(node.domain, node.op_type);
    node.inputs = ids_of(plugin::inputs_of(view));
    node.outputs = ids_of(plugin::outputs_of(view));
    for (const LeatAttributeView* attribute : plugin::attributes_of(view)) {
        node.attributes.emplace(attribute->name, import_attribute(*attribute));
    }
    return node;
}

ImportedGraph import_graph(const LeatGraphView& view, int64_t max_kept_bytes) {
    ImportedGraph result;
    result.graph.name = view.name;
    for (int32_t i = 0; i < view.symbol_count; ++i) {
        const LeatSymbolView& symbol = *view.symbols[i];
        result.symbols.push_back({symbol.name, symbol.min_extent, symbol.max_extent});
    }
    for (const LeatValueView* value : plugin::values_of(view)) {
        if (value->constant != nullptr) {
            const auto number = int32_t(result.graph.values.size());
            result.constants.push_back({number, value->constant->content_hash, number});
        }
        result.graph.values.push_back(import_value(*value, view, max_kept_bytes));
    }
    for (const LeatNodeView* node_view : plugin::nodes_of(view)) {
        NodeData node = import_node(*node_view);
        for (size_t i = 0; i < node.outputs.size(); ++i) {
            if (node.outputs[i].valid()) {
                ValueData& value = result.graph.value(node.outputs[i]);
                value.producer = NodeId{int32_t(result.graph.nodes.size())};
                value.output_index = int32_t(i);
            }
        }
        result.graph.nodes.push_back(std::move(node));
    }
    result.graph.inputs = ids_of({view.inputs, view.input_count});
    for (const ValueId id : result.graph.inputs) {
        if (const ValueData& input = result.graph.value(id); !input.type.dims) {
            plugin::invalid_argument(fmt::format("input '{}' has no rank", input.name));
        }
    }
    result.graph.outputs = ids_of({view.outputs, view.output_count});
    for (const ValueId id : result.graph.outputs) {
        result.graph.output_names.push_back(result.graph.value(id).name);
    }
    result.graph.settle_outputs();
    result.states.assign(view.states, view.states + view.state_count);
    return result;
}

}  // namespace leat::lowered
