// Field numbers are those of onnx.proto and onnx-data.proto.
#include "onnx/exporter.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "base/error.h"
#include "graph/default_input.h"
#include "graph/dim_symbol.h"
#include "graph/inference.h"
#include "graph/verify.h"
#include "onnx/device_configuration_writer.h"
#include "onnx/proto.h"

namespace leat::onnx {
namespace {

constexpr int64_t kIrVersion = 10;
constexpr int64_t kIrVersionOfDeviceConfigurations = 11;
constexpr int64_t kOpset = 22;
// Offsets of external data: a page, so that each tensor can be mapped by itself.
constexpr int64_t kExternalAlignmentBytes = 4096;
// Smaller constants stay in the model; other tools read shapes from them.
constexpr int64_t kMinExternalBytes = 1024;

Bytes raw_bytes(const Tensor& tensor) {
    return {tensor.bytes(), size_t(tensor.byte_count())};
}

void write_pair(WireWriter& out, uint32_t field, std::string_view key, const std::string& value) {
    WireWriter pair;
    pair.text(1, key);
    pair.text(2, value);
    out.message(field, std::move(pair));
}

void write_external(WireWriter& out, Bytes bytes, ConstantSink& sink) {
    const int64_t offset = (sink.size_bytes + kExternalAlignmentBytes - 1) /
                           kExternalAlignmentBytes * kExternalAlignmentBytes;
    write_pair(out, 13, "location", sink.location);
    write_pair(out, 13, "offset", std::to_string(offset));
    write_pair(out, 13, "length", std::to_string(bytes.size()));
    out.integer(14, 1);
    sink.blocks.emplace_back(offset, bytes);
    sink.size_bytes = offset + int64_t(bytes.size());
}

WireWriter write_shape(const std::vector<DimSpec>& dims) {
    WireWriter shape;
    for (const DimSpec& dim : dims) {
        WireWriter extent;
        if (dim.is_fixed()) {
            extent.integer(1, dim.extent());
        } else if (dim.symbol() != nullptr && dim.symbol()->kind == DimSymbol::Kind::kName) {
            // No reader would take what leat computed for more than a name.
            extent.text(2, dim.name());
        }
        shape.message(1, std::move(extent));
    }
    return shape;
}

WireWriter write_type(const TypeInfo& type) {
    WireWriter body;
    WireWriter out;
    if (type.kind == TypeInfo::Kind::kTensor) {
        body.integer(1, int64_t(type.dtype));
        if (type.dims) {
            body.message(2, write_shape(*type.dims));
        }
        out.message(uint32_t(TypeProto::Kind::kTensor), std::move(body));
        return out;
    }
    const bool is_map = type.kind == TypeInfo::Kind::kMap;
    if (is_map) {
        body.integer(1, int64_t(type.dtype));
    }
    if (type.element != nullptr) {
        body.message(is_map ? 2 : 1, write_type(*type.element));
    }
    const auto kind = is_map                                   ? TypeProto::Kind::kMap
                      : type.kind == TypeInfo::Kind::kSequence ? TypeProto::Kind::kSequence
                                                               : TypeProto::Kind::kOptional;
    out.message(uint32_t(kind), std::move(body));
    return out;
}

class GraphExporter {
  public:
    GraphExporter(const GraphData& graph, ConstantSink& sink) : graph_(graph), sink_(sink) {}

    Status infer_types();
    Result<WireWriter> run();

  private:
    // Of the body of a node of `around`.
    GraphExporter(const GraphData& body, const GraphExporter& around, const NodeData& node);
    void choose_names();
    void find_constants();
    // In this graph, or in one around it: files do not let a body hide a name.
    bool is_taken(const std::string& value_name) const;
    std::span<const ValueId> own_inputs() const {
        return std::span(graph_.inputs).first(graph_.inputs.size() - captured_.size());
    }
    const std::string& name(ValueId id) const { return names_[size_t(id.index)]; }
    // The name of a constant of a graph around with these bytes; null: there is none.
    const std::string* name_around(const Tensor& constant) const;
    const TypeInfo& type_of(ValueId id) const;
    Result<WireWriter> write_node(const NodeData& node);
    Result<WireWriter> write_attribute(const NodeData& node,
                                       const std::string& key,
                                       const AttributeValue& value);
    std::string name_of_output(size_t i);
    Status write_outputs(WireWriter& out, std::vector<WireWriter>& copies);
    WireWriter write_value_info(const std::string& value_name, const TypeInfo& type) const;

    const GraphData& graph_;
    ConstantSink& sink_;
    const GraphExporter* around_ = nullptr;
    std::vector<std::string> captured_;  // names around, of the last inputs
    std::unordered_set<std::string> taken_;
    std::vector<std::string> names_;  // by value index
    std::vector<bool> is_around_;     // by value index: a value of a graph around has the name
    std::unordered_map<const std::byte*, size_t> constants_;  // value index by address
    std::vector<ValueFact> facts_;  // by value index; empty where inference is not possible
};

GraphExporter::GraphExporter(const GraphData& body,
                             const GraphExporter& around,
                             const NodeData& node)
    : graph_(body), sink_(around.sink_), around_(&around) {
    for (const ValueId id : std::span(node.inputs).last(node.captured_count())) {
        captured_.push_back(around.name(id));
    }
}

// Graph outputs need a type in the file; the graph may not have it.
Status GraphExporter::infer_types() {
    bool complete = true;
    for (const ValueId id : graph_.outputs) {
        const TypeInfo& type = graph_.value(id).type;
        complete =
            complete && (!type.is_tensor() || (type.dtype != DType::kUndefined && type.dims));
    }
    bool all_known = true;
    for (const NodeData& node : graph_.nodes) {
        all_known = all_known && (node.dead || node.def != nullptr);
    }
    if (complete || !all_known) {
        return {};
    }
    LEAT_ASSIGN_OR_RETURN(facts_, infer_graph(graph_, {}, {}));
    return {};
}

const TypeInfo& GraphExporter::type_of(ValueId id) const {
    const TypeInfo& declared = graph_.value(id).type;
    if (facts_.empty() || (declared.dtype != DType::kUndefined && declared.dims)) {
        return declared;
    }
    return facts_[size_t(id.index)].type;
}

bool GraphExporter::is_taken(const std::string& value_name) const {
    return taken_.count(value_name) != 0 || (around_ != nullptr && around_->is_taken(value_name));
}

const std::string* GraphExporter::name_around(const Tensor& constant) const {
    if (around_ == nullptr) {
        return nullptr;
    }
    const auto same = around_->constants_.find(constant.bytes());
    if (same != around_->constants_.end()) {
        const Tensor& other = *around_->graph_.values[same->second].constant;
        if (other.dtype() == constant.dtype() && other.shape() == constant.shape()) {
            return &around_->names_[same->second];
        }
    }
    return around_->name_around(constant);
}

// A constant that a body has captured is written once, in the graph around.
void GraphExporter::find_constants() {
    for (size_t v = 0; v < graph_.values.size(); ++v) {
        const std::optional<Tensor>& constant = graph_.values[v].constant;
        if (!constant || constant->element_count() == 0) {
            continue;
        }
        if (const std::string* name = name_around(*constant)) {
            names_[v] = *name;
            is_around_[v] = true;
        } else {
            constants_.emplace(constant->bytes(), v);
        }
    }
    for (const DefaultInput& input : graph_.default_inputs) {
        const size_t value = index_of_default(graph_, input);
        if (value < graph_.values.size() && graph_.values[value].constant) {
            constants_.erase(graph_.values[value].constant->bytes());
        }
    }
}

// Every value needs a name; outputs go by the name that the interface gives them, if it is free.
void GraphExporter::choose_names() {
    names_.assign(graph_.values.size(), {});
    const auto take = [this](size_t value, const std::string& wanted) {
        const bool is_free = names_[value].empty() && !wanted.empty() && !is_taken(wanted);
        if (is_free) {
            names_[value] = wanted;
            taken_.insert(wanted);
        }
        return is_free;
    };
    is_around_.assign(graph_.values.size(), false);
    for (size_t k = 0; k < captured_.size(); ++k) {
        const auto value = size_t(graph_.inputs[own_inputs().size() + k].index);
        names_[value] = captured_[k];
        is_around_[value] = true;
    }
    find_constants();
    // Others may have the name of an output already.
    std::unordered_map<std::string_view, int> uses;
    for (const ValueData& value : graph_.values) {
        ++uses[value.name];
    }
    for (size_t i = 0; i < graph_.outputs.size(); ++i) {
        const ValueId id = graph_.outputs[i];
        const bool is_named_so = graph_.value(id).name == graph_.output_names[i];
        if (graph_.value(id).producer.valid() && uses[graph_.output_names[i]] == int(is_named_so)) {
            take(size_t(id.index), graph_.output_names[i]);
        }
    }
    for (size_t v = 0; v < names_.size(); ++v) {
        take(v, graph_.values[v].name);
        const std::string stem = graph_.values[v].name.empty() ? "value" : graph_.values[v].name;
        for (size_t number = v; names_[v].empty(); ++number) {
            take(v, fmt::format("{}_{}", stem, number));
        }
    }
}

WireWriter GraphExporter::write_value_info(const std::string& value_name,
                                           const TypeInfo& type) const {
    WireWriter info;
    info.text(1, value_name);
    if (!type.is_tensor() || type.dtype != DType::kUndefined) {
        info.message(2, write_type(type));
    }
    return info;
}

Result<WireWriter> GraphExporter::write_attribute(const NodeData& node,
                                                  const std::string& key,
                                                  const AttributeValue& value) {
    using Type = AttributeProto::Type;
    WireWriter out;
    out.text(1, key);
    Type type = Type::kUndefined;
    if (const auto* i = std::get_if<int64_t>(&value)) {
        type = Type::kInt;
        out.integer(3, *i);
    } else if (const auto* f = std::get_if<float>(&value)) {
        type = Type::kFloat;
        out.float32(2, *f);
    } else if (const auto* s = std::get_if<std::string>(&value)) {
        type = Type::kString;
        out.text(4, *s);
    } else if (const auto* t = std::get_if<Tensor>(&value)) {
        type = Type::kTensor;
        out.message(5, export_tensor(*t, {}, nullptr));
    } else if (const auto* ints = std::get_if<std::vector<int64_t>>(&value)) {
        type = Type::kInts;
        out.packed(8, *ints);
    } else if (const auto* floats = std::get_if<std::vector<float>>(&value)) {
        type = Type::kFloats;
        out.packed(7, *floats);
    } else if (const auto* strings = std::get_if<std::vector<std::string>>(&value)) {
        type = Type::kStrings;
        for (const std::string& text : *strings) {
            out.text(9, text);
        }
    } else if (const auto* body = std::get_if<Graph>(&value)) {
        type = Type::kGraph;
        LEAT_ASSIGN_OR_RETURN(WireWriter graph, GraphExporter(body->data(), *this, node).run());
        out.message(6, std::move(graph));
    }
    out.integer(20, int64_t(type));
    return out;
}

// The first opset of its domain that has all attributes of the node; kCanonicalOpset if none has.
int64_t opset_of_attributes(const NodeData& node) {
    int64_t opset = node.domain.empty() ? kOpset : 1;
    for (const AttributeSchema& row :
         node.def == nullptr ? std::span<const AttributeSchema>() : node.def->attributes) {
        if (row.is_in(kCanonicalOpset) && node.has_attr(row.name)) {
            opset = std::max<int64_t>(opset, row.since);
        }
    }
    return opset;
}

Result<WireWriter> GraphExporter::write_node(const NodeData& node) {
    if (!node.epilogue.empty() || node.domain == "leat" ||
        opset_of_attributes(node) == kCanonicalOpset) {
        return unsupported("only a graph before compile can be saved")
            .with_node(node.label())
            .with_found(!node.epilogue.empty()  ? "fused operators"
                        : node.domain == "leat" ? "an internal operator"
                                                : "an internal attribute");
    }
    if (node.op_type == "Optional" && node.has_attr("type")) {
        return unsupported("the type attribute of Optional cannot be saved")
            .with_node(node.label());
    }
    WireWriter out;
    for (const ValueId id : std::span(node.inputs).first(node.own_inputs())) {
        out.text(1, id.valid() ? std::string_view(name(id)) : std::string_view());
    }
    for (const ValueId id : node.outputs) {
        if (id.valid() && graph_.value(id).layout != Layout::kRowMajor) {
            return unsupported("only a graph before compile can be saved")
                .with_node(node.label())
                .with_found("another layout than row-major");
        }
        out.text(2, id.valid() ? std::string_view(name(id)) : std::string_view());
    }
    out.text(3, node.name);
    out.text(4, node.op_type);
    for (const auto& [key, value] : node.attributes) {
        LEAT_ASSIGN_OR_RETURN(WireWriter attribute, write_attribute(node, key, value));
        out.message(5, std::move(attribute));
    }
    if (!node.domain.empty()) {
        out.text(7, node.domain);
    }
    for (const NodeDeviceConfiguration& configuration : node.device_configurations) {
        out.message(10, write_node_configuration(node, configuration, names_));
    }
    return out;
}

// The nodes around name a body's results by their places, so each may have its value's name, once.
std::string GraphExporter::name_of_output(size_t i) {
    const ValueId id = graph_.outputs[i];
    const auto end = graph_.outputs.begin() + std::ptrdiff_t(i);
    if (around_ == nullptr) {
        return graph_.output_names[i];
    }
    if (std::find(graph_.outputs.begin(), end, id) == end && !is_around_[size_t(id.index)]) {
        return name(id);
    }
    std::string fresh = graph_.output_names[i];
    for (int number = 1; is_taken(fresh); ++number) {
        fresh = fmt::format("{}_{}", graph_.output_names[i], number);
    }
    return fresh;
}

// An output whose value goes by another name (it is an input, a constant or another output too) is
// a copy.
Status GraphExporter::write_outputs(WireWriter& out, std::vector<WireWriter>& copies) {
    for (size_t i = 0; i < graph_.outputs.size(); ++i) {
        const ValueId id = graph_.outputs[i];
        const std::string output_name = name_of_output(i);
        taken_.insert(output_name);
        const TypeInfo& type = type_of(id);
        if (type.is_tensor() && type.dtype == DType::kUndefined && !facts_.empty()) {
            return invalid_argument("output '{}' has no known type", output_name);
        }
        if (name(id) != output_name) {
            WireWriter copy;
            copy.text(1, name(id));
            copy.text(2, output_name);
            copy.text(3, output_name + "/Identity");
            copy.text(4, "Identity");
            copies.push_back(std::move(copy));
        }
        out.message(12, write_value_info(output_name, type));
    }
    return {};
}

Result<WireWriter> GraphExporter::run() {
    choose_names();
    WireWriter out;
    LEAT_ASSIGN_OR_RETURN(const std::vector<NodeId> order, graph_.topological_order());
    WireWriter outputs;
    std::vector<WireWriter> copies;
    LEAT_RETURN_IF_ERROR(write_outputs(outputs, copies));
    for (const NodeId id : order) {
        LEAT_ASSIGN_OR_RETURN(WireWriter node, write_node(graph_.node(id)));
        out.message(1, std::move(node));
    }
    for (WireWriter& copy : copies) {
        out.message(1, std::move(copy));
    }
    out.text(2, graph_.name.empty() ? "graph" : graph_.name);
    for (size_t v = 0; v < graph_.values.size(); ++v) {
        if (graph_.values[v].constant && !is_around_[v]) {
            out.message(5, export_tensor(*graph_.values[v].constant, names_[v], &sink_));
        }
    }
    for (const ValueId id : own_inputs()) {
        out.message(11, write_value_info(name(id), graph_.value(id).type));
    }
    for (const DefaultInput& input : graph_.default_inputs) {
        const size_t value = index_of_default(graph_, input);
        if (value < graph_.values.size()) {
            out.message(11, write_value_info(names_[value], input.type));
        }
    }
    out.append(std::move(outputs));
    return out;
}

Result<WireWriter> write_sequence(const Value& value);

Result<WireWriter> write_optional(const Value& value) {
    WireWriter out;
    if (value.elements().empty()) {
        return out;
    }
    const Value& element = value.elements()[0];
    LEAT_ASSIGN_OR_RETURN(WireWriter inner, export_value(element));
    switch (element.kind()) {
        case Value::Kind::kTensor:
            out.integer(2, int64_t(ElementKind::kTensor));
            out.message(3, std::move(inner));
            break;
        case Value::Kind::kSequence:
            out.integer(2, int64_t(ElementKind::kSequence));
            out.message(5, std::move(inner));
            break;
        case Value::Kind::kOptional:
            out.integer(2, int64_t(ElementKind::kOptional));
            out.message(7, std::move(inner));
            break;
    }
    return out;
}

Result<WireWriter> write_sequence(const Value& value) {
    WireWriter out;
    ElementKind kind = ElementKind::kTensor;
    WireWriter elements;
    for (const Value& element : value.elements()) {
        if (element.kind() != value.elements()[0].kind()) {
            return invalid_argument("the elements of a sequence are of different kinds");
        }
        LEAT_ASSIGN_OR_RETURN(WireWriter inner, export_value(element));
        switch (element.kind()) {
            case Value::Kind::kTensor:
                elements.message(3, std::move(inner));
                break;
            case Value::Kind::kSequence:
                kind = ElementKind::kSequence;
                elements.message(5, std::move(inner));
                break;
            case Value::Kind::kOptional:
                kind = ElementKind::kOptional;
                elements.message(7, std::move(inner));
                break;
        }
    }
    out.integer(2, int64_t(kind));
    out.append(std::move(elements));
    return out;
}

void add_opsets(const GraphData& graph, std::map<std::string, int64_t>& opsets) {
    for (const NodeData& node : graph.nodes) {
        if (node.dead) {
            continue;
        }
        if (node.domain.empty()) {
            opsets[""] = std::max(opsets[""], opset_of_attributes(node));
        } else {
            // Made in C++, it is of no file's opset.
            int64_t& opset = opsets[node.domain];
            opset = std::max(opset, node.opset > 0 ? node.opset : opset_of_attributes(node));
        }
        for (const auto& [key, body] : node.bodies()) {
            add_opsets(*body, opsets);
        }
    }
}

}  // namespace

WireWriter export_tensor(const Tensor& tensor, const std::string& name, ConstantSink* sink) {
    WireWriter out;
    for (const int64_t extent : tensor.shape()) {
        out.integer(1, extent);
    }
    out.integer(2, int64_t(tensor.dtype()));
    if (tensor.dtype() == DType::kString) {
        for (const std::string& text : tensor.data<std::string>()) {
            out.text(6, text);
        }
    }
    if (!name.empty()) {
        out.text(8, name);
    }
    if (tensor.dtype() == DType::kString) {
        return out;
    }
    const Bytes bytes = raw_bytes(tensor);
    if (sink != nullptr && sink->external && int64_t(bytes.size()) >= kMinExternalBytes) {
        write_external(out, bytes, *sink);
    } else {
        out.view(9, bytes);
    }
    return out;
}

Result<WireWriter> export_model(const GraphData& graph, ConstantSink& sink) {
    LEAT_RETURN_IF_ERROR(check_is_whole(graph));
    GraphExporter exporter(graph, sink);
    LEAT_RETURN_IF_ERROR(exporter.infer_types());
    LEAT_ASSIGN_OR_RETURN(WireWriter body, exporter.run());
    WireWriter out;
    out.integer(
        1, graph.device_configurations.empty() ? kIrVersion : kIrVersionOfDeviceConfigurations);
    out.text(2, "leat");
    out.message(7, std::move(body));
    std::map<std::string, int64_t> opsets = graph.opset_imports;
    opsets.erase("ai.onnx");
    opsets[""] = kOpset;
    add_opsets(graph, opsets);
    for (const auto& [domain, version] : opsets) {
        WireWriter import;
        import.text(1, domain);
        import.integer(2, version);
        out.message(8, std::move(import));
    }
    for (const DeviceConfiguration& configuration : graph.device_configurations) {
        out.message(26, write_device_configuration(configuration));
    }
    return out;
}

Result<WireWriter> export_value(const Value& value) {
    switch (value.kind()) {
        case Value::Kind::kSequence:
            return write_sequence(value);
        case Value::Kind::kOptional:
            return write_optional(value);
        case Value::Kind::kTensor:
            break;
    }
    if (!value.tensor().defined()) {
        return invalid_argument("the tensor is undefined");
    }
    return export_tensor(value.tensor(), {}, nullptr);
}

}  // namespace leat::onnx
