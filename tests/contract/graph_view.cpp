#include "contract/graph_view.h"

#include <utility>

#include "memory/content_hash.h"

namespace leat::contract {

int32_t GraphView::symbol(const char* name, int64_t min_extent, int64_t max_extent) {
    LeatSymbolView& row = symbols_.emplace_back(plugin::made<LeatSymbolView>());
    row.name = names_.emplace_back(name).c_str();
    row.min_extent = min_extent;
    row.max_extent = max_extent;
    symbol_pointers_.push_back(&row);
    return -int32_t(symbols_.size());
}

int32_t GraphView::value(const char* name, int32_t dtype, const std::vector<int64_t>& extents) {
    std::vector<LeatDim>& dims = dims_.emplace_back();
    dims.reserve(extents.size());
    for (const int64_t extent : extents) {
        if (extent >= 0) {
            dims.push_back({extent, -1});
        } else {
            dims.push_back({-1, extent == kUnknown ? -1 : int32_t(-1 - extent)});
        }
    }
    LeatValueView& row = values_.emplace_back(plugin::made<LeatValueView>());
    row.name = names_.emplace_back(name).c_str();
    row.dtype = dtype;
    row.rank = int32_t(dims.size());
    row.dims = dims.data();
    row.max_elements = -1;
    row.outer_value = -1;
    value_pointers_.push_back(&row);
    return int32_t(values_.size()) - 1;
}

int32_t GraphView::input(const char* name, int32_t dtype, const std::vector<int64_t>& extents) {
    inputs_.push_back(value(name, dtype, extents));
    return inputs_.back();
}

int32_t GraphView::constant(const char* name,
                            std::vector<int64_t> extents,
                            std::vector<float> elements) {
    const int32_t index = value(name, kFloat32, extents);
    std::vector<float>& data = elements_.emplace_back(std::move(elements));
    const std::vector<int64_t>& shape = extents_.emplace_back(std::move(extents));
    LeatTensorView& tensor = tensors_.emplace_back(plugin::made<LeatTensorView>());
    tensor.dtype = kFloat32;
    tensor.rank = int32_t(shape.size());
    tensor.extents = shape.data();
    tensor.data = data.data();
    tensor.bytes = int64_t(data.size() * sizeof(float));
    LeatConstantView& row = constants_.emplace_back(plugin::made<LeatConstantView>());
    row.tensor = &tensor;
    row.content_hash = content_hash(std::as_bytes(std::span<const float>(data)));
    values_.back().constant = &row;
    return index;
}

int32_t GraphView::outer(const char* name,
                         int32_t dtype,
                         const std::vector<int64_t>& extents,
                         int32_t outer_value) {
    const int32_t index = value(name, dtype, extents);
    values_.back().outer_value = outer_value;
    return index;
}

void GraphView::node(const char* op_type,
                     std::initializer_list<int32_t> inputs,
                     std::initializer_list<int32_t> outputs,
                     const char* domain) {
    Lists& lists = lists_.emplace_back();
    lists.inputs = inputs;
    lists.outputs = outputs;
    LeatNodeView& row = nodes_.emplace_back(plugin::made<LeatNodeView>());
    row.name = names_.emplace_back(op_type).c_str();
    row.domain = names_.emplace_back(domain).c_str();
    row.op_type = row.name;
    row.input_count = int32_t(lists.inputs.size());
    row.inputs = lists.inputs.data();
    row.output_count = int32_t(lists.outputs.size());
    row.outputs = lists.outputs.data();
    node_pointers_.push_back(&row);
}

void GraphView::body(const char* name, GraphView& graph) {
    LeatNodeView& node = nodes_.back();
    Lists& lists = lists_.back();
    LeatSubgraphView& row = lists.bodies.emplace_back(plugin::made<LeatSubgraphView>());
    row.name = names_.emplace_back(name).c_str();
    row.graph = graph.view();
    lists.body_pointers.clear();
    for (const LeatSubgraphView& subgraph : lists.bodies) {
        lists.body_pointers.push_back(&subgraph);
    }
    node.subgraph_count = int32_t(lists.body_pointers.size());
    node.subgraphs = lists.body_pointers.data();
}

const LeatGraphView* GraphView::view() {
    view_.name = "check";
    view_.symbol_count = int32_t(symbol_pointers_.size());
    view_.symbols = symbol_pointers_.data();
    view_.value_count = int32_t(value_pointers_.size());
    view_.values = value_pointers_.data();
    view_.node_count = int32_t(node_pointers_.size());
    view_.nodes = node_pointers_.data();
    view_.input_count = int32_t(inputs_.size());
    view_.inputs = inputs_.data();
    view_.output_count = int32_t(outputs_.size());
    view_.outputs = outputs_.data();
    view_.state_count = int32_t(states_.size());
    view_.states = states_.data();
    return &view_;
}

}  // namespace leat::contract
