// The public face of GraphData: building and reading.
#include "leat/graph.h"

#include <algorithm>

#include "base/error.h"
#include "base/out_of_memory.h"
#include "base/tensor_check.h"
#include "graph/bodies.h"
#include "graph/graph_data.h"
#include "graph/op_def.h"
#include "graph/text.h"
#include "graph/verify.h"

namespace leat {
namespace {

ValueInfo describe(const std::string& name, const TypeInfo& type) {
    ValueInfo info;
    info.name = name;
    info.dtype = type.dtype;
    info.is_tensor = type.is_tensor();
    info.has_shape = type.is_tensor() && type.dims.has_value();
    if (info.has_shape) {
        info.dims = *type.dims;
    }
    return info;
}

Status check_body(const GraphData& body, const GraphData& around) {
    const int nesting = 1 + body.body_nesting();
    if (nesting > kMaxBodyNesting) {
        return unsupported("bodies are nested too deep")
            .with_found(fmt::format("{} in each other", nesting))
            .with_needed(fmt::format("at most {}", kMaxBodyNesting));
    }
    for (const Capture& capture : body.captures) {
        if (capture.outside.index >= around.value_count()) {
            return invalid_argument("'{}' is captured from another graph than '{}'",
                                    body.value(capture.inside).name, around.name)
                .with_found(fmt::format("value id {}", capture.outside.index))
                .with_needed(fmt::format("an id below {}", around.value_count()));
        }
    }
    return {};
}

// Of a node of the graph `around`.
Status check_attribute(const AttributeValue& value, const GraphData& around) {
    if (const auto* tensor = std::get_if<Tensor>(&value)) {
        return tensor->defined() ? check_tensor(*tensor)
                                 : invalid_argument("the tensor is undefined");
    }
    const auto* body = std::get_if<Graph>(&value);
    return body == nullptr ? Status() : check_body(body->data(), around);
}

// Outputs of a graph, as many as a node's that has it as a body; a node has one at least.
int output_count_of(const Graph& body, int fewer = 0) {
    return std::max(int(body.data().outputs.size()) - fewer, 1);
}

}  // namespace

Graph::Graph(std::string name) : data_(std::make_unique<GraphData>()) {
    data_->name = std::move(name);
}
Graph::Graph(std::unique_ptr<GraphData> data) : data_(std::move(data)) {}
Graph::~Graph() = default;
Graph::Graph(Graph&&) noexcept = default;
Graph& Graph::operator=(Graph&&) noexcept = default;
Graph::Graph(const Graph& other) : data_(std::make_unique<GraphData>(*other.data_)) {}
Graph& Graph::operator=(const Graph& other) {
    if (this != &other) {
        data_ = std::make_unique<GraphData>(*other.data_);
    }
    return *this;
}

ValueId Graph::input(std::string_view name, DType dtype, std::vector<DimSpec> dims) {
    for (size_t axis = 0; axis < dims.size(); ++axis) {
        if (dims[axis].extent() < DimSpec::unknown().extent()) {
            data_->build_errors.push_back(
                invalid_argument("input '{}' has a negative extent", name)
                    .with_found(fmt::format("{} at axis {}", dims[axis].extent(), axis))
                    .with_needed("0 or more, a name, or DimSpec::unknown()"));
        }
    }
    if (!is_known_dtype(dtype)) {
        data_->build_errors.push_back(
            check_tensor_type(dtype, {}).with_node(fmt::format("input '{}'", name)));
        dtype = DType::kUndefined;
    }
    const ValueId id =
        data_->add_value(std::string(name), TypeInfo::tensor(dtype, std::move(dims)));
    data_->inputs.push_back(id);
    return id;
}

ValueId Graph::constant(std::string_view name, Tensor value) {
    if (!value.defined()) {
        data_->build_errors.push_back(
            invalid_argument("constant '{}' has no data: its tensor is undefined", name));
        return data_->add_value(std::string(name), {});
    }
    if (Status status = check_tensor(value); !status.ok()) {
        data_->build_errors.push_back(
            std::move(status).with_node(fmt::format("constant '{}'", name)));
        return data_->add_value(std::string(name), {});
    }
    return data_->add_constant(std::string(name), std::move(value));
}

ValueId Graph::add(std::string_view op_type,
                   std::vector<ValueId> inputs,
                   Attributes attributes,
                   std::string_view name) {
    return add_multi(op_type, std::move(inputs), 1, std::move(attributes), name).front();
}

std::vector<ValueId> Graph::add_multi(std::string_view op_type,
                                      std::vector<ValueId> inputs,
                                      int output_count,
                                      Attributes attributes,
                                      std::string_view name) {
    if (output_count < 1) {
        data_->build_errors.push_back(
            invalid_argument("{} '{}': a node needs at least one output", op_type, name)
                .with_found(std::to_string(output_count)));
        output_count = 1;
    }
    for (auto attribute = attributes.begin(); attribute != attributes.end();) {
        Status status = check_attribute(attribute->second, *data_);
        if (status.ok()) {
            ++attribute;
            continue;
        }
        data_->build_errors.push_back(std::move(status).with_node(
            fmt::format("{} '{}', attribute '{}'", op_type, name, attribute->first)));
        attribute = attributes.erase(attribute);
    }
    // As in the text form; names of operators have no dots.
    const size_t dot = op_type.rfind('.');
    const bool has_domain = dot != std::string_view::npos;
    const NodeId node =
        data_->add_node(std::string(has_domain ? op_type.substr(0, dot) : std::string_view()),
                        std::string(has_domain ? op_type.substr(dot + 1) : op_type),
                        std::move(inputs), output_count, std::move(attributes), std::string(name));
    data_->close_bodies(data_->node(node));
    return data_->node(node).outputs;
}

ValueId Graph::capture(const Graph& outer, ValueId value) {
    if (!value.valid() || value.index >= outer.data().value_count()) {
        data_->build_errors.push_back(
            invalid_argument("a captured value is not one of graph '{}'", outer.name())
                .with_found(fmt::format("value id {}", value.index))
                .with_needed(fmt::format("an id below {}", outer.data().value_count())));
        return data_->add_value(data_->fresh_name("captured"), {});
    }
    for (const Capture& capture : data_->captures) {
        if (capture.outside == value) {
            return capture.inside;
        }
    }
    const ValueData& outside = outer.data().value(value);
    if (outside.constant) {
        return data_->add_constant(data_->fresh_name(outside.name), *outside.constant);
    }
    const ValueId inside = data_->add_value(data_->fresh_name(outside.name), outside.type);
    data_->captures.push_back({inside, value});
    return inside;
}

std::vector<ValueId> Graph::if_(ValueId condition,
                                Graph then_branch,
                                Graph else_branch,
                                std::string_view name) {
    const int outputs = output_count_of(then_branch);
    Attributes branches;
    branches.emplace("then_branch", std::move(then_branch));
    branches.emplace("else_branch", std::move(else_branch));
    return add_multi("If", {condition}, outputs, std::move(branches), name);
}

std::vector<ValueId> Graph::loop(ValueId trip_count,
                                 ValueId condition,
                                 const std::vector<ValueId>& initial,
                                 Graph body,
                                 std::string_view name) {
    std::vector<ValueId> inputs = {trip_count, condition};
    inputs.insert(inputs.end(), initial.begin(), initial.end());
    const int outputs = output_count_of(body, 1);
    Attributes attributes;
    attributes.emplace("body", std::move(body));
    return add_multi("Loop", std::move(inputs), outputs, std::move(attributes), name);
}

std::vector<ValueId> Graph::scan(const std::vector<ValueId>& initial,
                                 const std::vector<ValueId>& scanned,
                                 Graph body,
                                 Attributes attributes,
                                 std::string_view name) {
    std::vector<ValueId> inputs = initial;
    inputs.insert(inputs.end(), scanned.begin(), scanned.end());
    const int outputs = output_count_of(body);
    attributes.insert_or_assign("num_scan_inputs", int64_t(scanned.size()));
    attributes.insert_or_assign("body", std::move(body));
    return add_multi("Scan", std::move(inputs), outputs, std::move(attributes), name);
}

void Graph::output(std::string_view name, ValueId value) {
    if (!value.valid() || value.index >= data_->value_count()) {
        data_->build_errors.push_back(
            invalid_argument("output '{}' is not a value of this graph", name));
        return;
    }
    data_->outputs.push_back(value);
    data_->output_names.emplace_back(name);
}

const std::string& Graph::name() const {
    return data_->name;
}

std::vector<ValueInfo> Graph::inputs() const {
    std::vector<ValueInfo> infos;
    for (ValueId id : data_->inputs) {
        infos.push_back(describe(data_->value(id).name, data_->value(id).type));
    }
    return infos;
}

std::vector<ValueInfo> Graph::outputs() const {
    std::vector<ValueInfo> infos;
    for (size_t i = 0; i < data_->outputs.size(); ++i) {
        infos.push_back(describe(data_->output_names[i], data_->value(data_->outputs[i]).type));
    }
    return infos;
}

std::vector<ValueInfo> Graph::default_inputs() const {
    std::vector<ValueInfo> infos;
    for (const DefaultInput& input : data_->default_inputs) {
        infos.push_back(describe(input.name, input.type));
    }
    return infos;
}

int Graph::node_count() const {
    return data_->node_count();
}

int64_t Graph::parameter_count() const {
    int64_t count = 0;
    for_each_constant(*data_, [&count](const Tensor& own) { count += own.element_count(); });
    return count;
}

int64_t Graph::parameter_bytes() const {
    return data_->parameter_bytes();
}
std::span<const std::string> Graph::warnings() const {
    return data_->warnings;
}
Status Graph::verify() const {
    return catch_bad_alloc("verify the graph", [&] { return verify_graph(*data_); });
}
std::string Graph::to_text() const {
    return graph_to_text(*data_);
}

}  // namespace leat
