#include "passes/rewriter.h"

#include <algorithm>
#include <cstring>

#include "graph/op_def.h"

namespace leat {
namespace {

template <class T, class Out>
std::vector<Out> copy_elements(const Tensor& tensor) {
    std::vector<Out> out;
    out.reserve(size_t(tensor.element_count()));
    for (int64_t i = 0; i < tensor.element_count(); ++i) {
        T element;  // the constant may be unaligned
        std::memcpy(&element, tensor.bytes() + i * int64_t(sizeof(T)), sizeof(T));
        out.push_back(Out(element));
    }
    return out;
}

}  // namespace

std::optional<NodeId> Rewriter::only_reader(ValueId id) const {
    if (readers(id).size() != 1 || is_output(id)) {
        return std::nullopt;
    }
    return readers(id).front();
}

void Rewriter::grow() {
    uses().readers.resize(graph_.values.size());
    uses().output_uses.resize(graph_.values.size());
}

void Rewriter::drop_reader(ValueId value, NodeId node) {
    if (!value.valid()) {
        return;
    }
    InlineVector<NodeId, 2>& list = uses().readers[size_t(value.index)];
    const auto found = std::find(list.begin(), list.end(), node);
    if (found != list.end()) {
        list.erase(found);
    }
}

void Rewriter::replace_uses(ValueId from, ValueId to) {
    InlineVector<NodeId, 2>& old_readers = uses().readers[size_t(from.index)];
    for (NodeId reader : old_readers) {
        std::vector<ValueId>& inputs = graph_.node(reader).inputs;
        std::replace(inputs.begin(), inputs.end(), from, to);
    }
    InlineVector<NodeId, 2>& new_readers = uses().readers[size_t(to.index)];
    for (const NodeId reader : old_readers) {
        new_readers.push_back(reader);
    }
    old_readers.clear();
    if (is_output(from)) {
        std::replace(graph_.outputs.begin(), graph_.outputs.end(), from, to);
        uses().output_uses[size_t(to.index)] += uses().output_uses[size_t(from.index)];
        uses().output_uses[size_t(from.index)] = 0;
    }
    ++changes_;
}

bool Rewriter::bypass(ValueId from, ValueId to) {
    if (is_output(from) && (!graph_.value(to).producer.valid() || is_output(to))) {
        return false;
    }
    replace_uses(from, to);
    return true;
}

void Rewriter::set_input(NodeId node, size_t i, ValueId value) {
    uses();  // as they are before the change
    drop_reader(graph_.node(node).inputs[i], node);
    graph_.node(node).inputs[i] = value;
    if (value.valid()) {
        uses().readers[size_t(value.index)].push_back(node);
    }
    ++changes_;
}

void Rewriter::set_inputs(NodeId node, std::vector<ValueId> inputs) {
    uses();
    for (ValueId old : graph_.node(node).inputs) {
        drop_reader(old, node);
    }
    for (ValueId input : inputs) {
        if (input.valid()) {
            uses().readers[size_t(input.index)].push_back(node);
        }
    }
    graph_.node(node).inputs = std::move(inputs);
    ++changes_;
}

void Rewriter::remove(NodeId node) {
    uses();
    for (ValueId input : graph_.node(node).inputs) {
        drop_reader(input, node);
    }
    graph_.node(node).dead = true;
    ++changes_;
}

NodeId Rewriter::add_node(const std::string& domain,
                          const std::string& op_type,
                          std::vector<ValueId> inputs,
                          const std::string& name) {
    const NodeId id = graph_.add_node(domain, op_type, {}, 1, {}, name);
    grow();
    set_inputs(id, std::move(inputs));
    return id;
}

ValueId Rewriter::add_constant(std::string_view stem, Tensor tensor) {
    const ValueId id = graph_.add_constant(graph_.fresh_name(stem), std::move(tensor));
    grow();
    return id;
}

Result<ValueId> Rewriter::add_ints(std::string_view stem, const std::vector<int64_t>& elements) {
    LEAT_ASSIGN_OR_RETURN(Tensor tensor,
                          Tensor::from<int64_t>({int64_t(elements.size())}, elements));
    return add_constant(stem, std::move(tensor));
}

Result<ValueId> Rewriter::add_floats(std::string_view stem,
                                     const Shape& shape,
                                     const std::vector<float>& elements) {
    LEAT_ASSIGN_OR_RETURN(Tensor tensor, Tensor::from<float>(shape, elements));
    return add_constant(stem, std::move(tensor));
}

void Rewriter::become(NodeId node,
                      const char* op_type,
                      std::vector<ValueId> inputs,
                      Attributes attributes) {
    NodeData& data = graph_.node(node);
    data.domain.clear();
    data.op_type = op_type;
    data.def = find_op("", op_type);
    data.attributes = std::move(attributes);
    data.opset = 0;
    set_inputs(node, std::move(inputs));
}

std::vector<const NodeData*> Rewriter::nodes_between(std::span<const ValueId> values,
                                                     NodeId last) const {
    std::vector<const NodeData*> found;
    std::vector<const NodeData*> open = {&graph_.node(last)};
    while (!open.empty()) {
        const NodeData& node = *open.back();
        open.pop_back();
        for (const ValueId input : node.inputs) {
            const bool is_behind =
                input.valid() && std::find(values.begin(), values.end(), input) == values.end();
            const NodeId producer = is_behind ? graph_.value(input).producer : NodeId();
            const NodeData* before = producer.valid() ? &graph_.node(producer) : nullptr;
            if (before != nullptr && std::find(found.begin(), found.end(), before) == found.end()) {
                found.push_back(before);
                open.push_back(before);
            }
        }
    }
    return found;
}

bool Rewriter::replace_pattern(NodeId last,
                               const char* op_type,
                               std::vector<ValueId> inputs,
                               Attributes attributes) {
    if (!history_.join(graph_.node(last), nodes_between(inputs, last))) {
        return false;
    }
    become(last, op_type, std::move(inputs), std::move(attributes));
    return true;
}

void Rewriter::become_constants(NodeId node, std::vector<Tensor> results) {
    const NodeData& data = graph_.node(node);
    for (size_t i = 0; i < results.size() && i < data.outputs.size(); ++i) {
        if (!data.outputs[i].valid()) {
            continue;
        }
        ValueData& value = graph_.value(data.outputs[i]);
        value.producer = {};
        value.output_index = 0;
        value.type = TypeInfo::tensor(results[i].dtype(), results[i].shape());
        value.constant = std::move(results[i]);
    }
    history_.remove(data, NodeFate::kComputed);
    remove(node);
    graph_.node(node).outputs.clear();
}

const Tensor* constant_of(const GraphData& graph, ValueId id) {
    return id.valid() && graph.value(id).constant ? &*graph.value(id).constant : nullptr;
}

std::optional<std::vector<float>> floats_of(const GraphData& graph, ValueId id) {
    const Tensor* tensor = constant_of(graph, id);
    if (tensor == nullptr || tensor->dtype() != DType::kFloat32) {
        return std::nullopt;
    }
    return copy_elements<float, float>(*tensor);
}

std::optional<float> scalar_of(const GraphData& graph, ValueId id) {
    const Tensor* tensor = constant_of(graph, id);
    if (tensor == nullptr || tensor->dtype() != DType::kFloat32 || tensor->element_count() != 1) {
        return std::nullopt;
    }
    return copy_elements<float, float>(*tensor)[0];
}

std::optional<std::vector<int64_t>> ints_of(const GraphData& graph, ValueId id) {
    const Tensor* tensor = constant_of(graph, id);
    if (tensor != nullptr && tensor->dtype() == DType::kInt64) {
        return copy_elements<int64_t, int64_t>(*tensor);
    }
    if (tensor != nullptr && tensor->dtype() == DType::kInt32) {
        return copy_elements<int32_t, int64_t>(*tensor);
    }
    return std::nullopt;
}

const NodeData* producer_of(const GraphData& graph, ValueId id, std::string_view op_type) {
    if (!id.valid() || !graph.value(id).producer.valid()) {
        return nullptr;
    }
    const NodeData& node = graph.node(graph.value(id).producer);
    return node.domain.empty() && node.op_type == op_type && node.epilogue.empty() ? &node
                                                                                   : nullptr;
}

bool same_shape(const TypeInfo& a, const TypeInfo& b) {
    return a.is_tensor() && b.is_tensor() && a.dims && b.dims &&
           std::equal(a.dims->begin(), a.dims->end(), b.dims->begin(), b.dims->end(), same_dim);
}

bool broadcasts_into(const TypeInfo& operand, const TypeInfo& result) {
    if (!operand.is_tensor() || !operand.dims || !result.dims || operand.rank() > result.rank()) {
        return false;
    }
    const auto offset = result.dims->end() - std::ptrdiff_t(operand.dims->size());
    return std::equal(
        operand.dims->begin(), operand.dims->end(), offset,
        [](const DimSpec& a, const DimSpec& b) { return a.extent() == 1 || same_dim(a, b); });
}

std::optional<std::vector<int64_t>> reshape_target(const TypeInfo& from, const TypeInfo& to) {
    if (!to.is_tensor() || !to.dims) {
        return std::nullopt;
    }
    std::vector<int64_t> target;
    int open = 0;
    bool has_copy = false;
    for (size_t i = 0; i < to.dims->size(); ++i) {
        const DimSpec& dim = (*to.dims)[i];
        if (dim.extent() == 0) {
            return std::nullopt;  // 0 would mean a copy
        }
        target.push_back(dim.extent());
        open += dim.is_fixed() ? 0 : 1;
    }
    // -1 stands where the extent is not fixed. Further ones are copies, of the same axis.
    for (size_t i = 0; open > 1 && from.dims && i < target.size() && i < from.dims->size(); ++i) {
        if (target[i] < 0 && same_dim((*from.dims)[i], (*to.dims)[i])) {
            target[i] = 0;
            has_copy = true;
            --open;
        }
    }
    // What is not copied holds as many elements before and after, also where copies hold none.
    const auto rest = [&target](const std::vector<DimSpec>& dims) {
        DimSpec elements(1);
        for (size_t i = 0; i < dims.size(); ++i) {
            if (i >= target.size() || target[i] != 0) {
                elements = multiply_dims(elements, dims[i]);
            }
        }
        return elements;
    };
    if (open > 1 || (has_copy && !same_dim(rest(*from.dims), rest(*to.dims)))) {
        return std::nullopt;
    }
    return target;
}

}  // namespace leat
