#include "onnx/importer.h"

#include <algorithm>
#include <unordered_map>

#include "base/error.h"
#include "graph/default_input.h"
#include "onnx/attribute_check.h"
#include "onnx/attribute_reader.h"
#include "onnx/device_configuration_reader.h"
#include "onnx/function_call.h"
#include "onnx/graph_builder.h"
#include "onnx/model_check.h"
#include "onnx/node_order.h"
#include "onnx/scope.h"
#include "onnx/upgrade.h"

namespace leat::onnx {
namespace {

// Functions may call functions, so a small file can describe a graph that fills the memory.
constexpr int64_t kMaxInlinedNodes = 1 << 18;
// Function calls and subgraphs around a node.
constexpr int kMaxNesting = 100;

std::string function_key(std::string_view domain,
                         std::string_view name,
                         std::string_view overload) {
    return fmt::format("{}.{}:{}", normalized(domain), name, overload);
}

// Rules for older nodes ask for ranks and types.
bool needs_types(const Opsets& opsets) {
    constexpr int64_t kFirstOpsetWithoutTypes = 13;
    const auto found = opsets.find("");
    return found != opsets.end() && found->second < kFirstOpsetWithoutTypes;
}

class Importer {
  public:
    Importer(const ModelProto& model, const Source& source, const OperatorSource* operators)
        : model_(model), source_(source), operators_(operators) {}

    Result<std::unique_ptr<GraphData>> run(const std::string& file);

  private:
    Status index_functions();
    Status import_graph(Scope& scope, const GraphProto& graph);
    Status add_initializers(Scope& scope, const GraphProto& graph);
    Status add_inputs(Scope& scope, const GraphProto& graph);
    Status add_default_input(Scope& scope, const ValueInfoProto& info);
    Status add_outputs(Scope& scope, const GraphProto& graph);
    Status import_nodes(Scope& scope, const std::vector<NodeProto>& nodes);
    Status declare_outputs(Scope& scope, const std::vector<NodeProto>& nodes);
    Status import_node(Scope& scope, const NodeProto& proto);
    Status import_operator(Scope& scope,
                           const NodeProto& proto,
                           const BoundAttributes& attributes,
                           int64_t opset);
    Status import_constant(Scope& scope, const NodeProto& proto, const BoundAttributes& attributes);
    Status inline_function(Scope& scope,
                           const NodeProto& proto,
                           const FunctionProto& function,
                           BoundAttributes arguments);
    // Nodes of a function from `first` on are in the stage of the call, where they say nothing
    // else.
    Status hand_down_stages(GraphData& graph, const NodeProto& call, int first) const;
    Status check_nesting() const;
    // Counts what functions add to the graph.
    Status count_inlined(size_t count);
    Result<BoundAttributes> bind_attributes(Scope& scope, const NodeProto& proto);
    Result<std::optional<AttributeValue>> attribute_value(Scope& scope,
                                                          const BoundAttribute& bound);
    // `around`: of the node that has the body. `outer`: where the body's names are looked up.
    Result<Graph> import_body(Scope& around, Scope& outer, const GraphProto& graph);
    Result<int64_t> opset_of(const Scope& scope, std::string_view domain) const;

    const ModelProto& model_;
    const Source& source_;
    const OperatorSource* operators_;
    Opsets opsets_;
    std::unordered_map<std::string, const FunctionProto*> functions_;
    std::vector<const FunctionProto*> active_functions_;
    int64_t inlined_nodes_ = 0;
    int nesting_ = 0;
    std::vector<std::string> constant_inputs_;
};

Status Importer::index_functions() {
    for (const FunctionProto& function : model_.functions) {
        const std::string key = function_key(function.domain, function.name, function.overload);
        if (!functions_.emplace(key, &function).second) {
            return invalid_argument("two functions have the same name").with_found("'" + key + "'");
        }
    }
    return {};
}

Result<std::unique_ptr<GraphData>> Importer::run(const std::string& file) {
    LEAT_ASSIGN_OR_RETURN(opsets_, check_model(model_));
    LEAT_RETURN_IF_ERROR(index_functions());
    GraphBuilder builder(nullptr, needs_types(opsets_), operators_);
    Scope scope{.builder = builder, .opsets = &opsets_};
    LEAT_RETURN_IF_ERROR(import_graph(scope, *model_.graph));
    auto graph = std::make_unique<GraphData>(std::move(builder.graph()));
    graph->file = file;
    for (const DeviceConfigurationProto& proto : model_.configuration) {
        graph->device_configurations.push_back({std::string(proto.name),
                                                proto.num_devices,
                                                {proto.device.begin(), proto.device.end()}});
    }
    for (const auto& [domain, version] : opsets_) {
        graph->opset_imports[domain] = version;
    }
    if (!constant_inputs_.empty()) {
        graph->warnings.push_back(
            fmt::format("{} of the graph's inputs have initializers and are constants ('{}'{}): "
                        "nobody can bind them in a file before IR version 4",
                        constant_inputs_.size(), constant_inputs_[0],
                        constant_inputs_.size() > 1 ? ", ..." : ""));
    }
    return graph;
}

Status Importer::import_graph(Scope& scope, const GraphProto& graph) {
    scope.builder.graph().name = graph.name;
    for (const auto* list : {&graph.value_info, &graph.output, &graph.input}) {
        for (const ValueInfoProto& info : *list) {
            scope.declared.set(info.name, &info.type);
        }
    }
    const size_t values = graph.initializer.size() + graph.input.size() + graph.node.size();
    scope.builder.reserve(values, graph.node.size());
    scope.values.reserve(values);
    LEAT_RETURN_IF_ERROR(add_initializers(scope, graph));
    LEAT_RETURN_IF_ERROR(add_inputs(scope, graph));
    LEAT_RETURN_IF_ERROR(import_nodes(scope, graph.node));
    return add_outputs(scope, graph);
}

Status duplicate_name(std::string_view name, const char* what) {
    return invalid_argument("two values have the same name")
        .with_found(fmt::format("'{}' twice, the second as {}", name, what))
        .with_needed("one source for each name");
}

Status Importer::check_nesting() const {
    if (nesting_ < kMaxNesting) {
        return {};
    }
    return unsupported("functions and subgraphs are nested too deep")
        .with_found(fmt::format("more than {} levels", nesting_))
        .with_needed(fmt::format("at most {}", kMaxNesting));
}

Status Importer::count_inlined(size_t count) {
    if (active_functions_.empty()) {
        return {};
    }
    inlined_nodes_ += int64_t(count);
    if (inlined_nodes_ <= kMaxInlinedNodes) {
        return {};
    }
    return unsupported("the functions make too many nodes")
        .with_needed(fmt::format("at most {}", kMaxInlinedNodes));
}

Status Importer::add_initializers(Scope& scope, const GraphProto& graph) {
    LEAT_RETURN_IF_ERROR(count_inlined(graph.initializer.size() + graph.sparse_initializer.size()));
    const auto add = [&](std::string_view name, Tensor tensor) -> Status {
        if (name.empty()) {
            return invalid_argument("an initializer has no name");
        }
        const ValueId id = scope.builder.add_constant(name, std::move(tensor));
        return scope.values.insert(name, id) ? Status() : duplicate_name(name, "initializer");
    };
    for (const TensorProto& proto : graph.initializer) {
        LEAT_ASSIGN_OR_RETURN(Tensor tensor, read_tensor(proto, source_));
        LEAT_RETURN_IF_ERROR(add(proto.name, std::move(tensor)));
    }
    for (const SparseTensorProto& proto : graph.sparse_initializer) {
        LEAT_ASSIGN_OR_RETURN(Tensor tensor, read_sparse_tensor(proto, source_));
        LEAT_RETURN_IF_ERROR(add(proto.values.name, std::move(tensor)));
    }
    return {};
}

Status Importer::add_inputs(Scope& scope, const GraphProto& graph) {
    NameTable<bool> seen;
    for (const ValueInfoProto& info : graph.input) {
        if (info.name.empty()) {
            return invalid_argument("a graph input has no name");
        }
        if (!seen.insert(info.name)) {
            return duplicate_name(info.name, "graph input");
        }
        if (scope.values.contains(info.name)) {
            LEAT_RETURN_IF_ERROR(add_default_input(scope, info));
            continue;
        }
        LEAT_ASSIGN_OR_RETURN(const ValueId id, scope.add_value(info.name));
        scope.builder.graph().inputs.push_back(id);
    }
    return {};
}

// Before IR version 4 every initializer was an input too, and a constant all the same.
Status Importer::add_default_input(Scope& scope, const ValueInfoProto& info) {
    constexpr int64_t kFirstIrWithDefaults = 4;
    if (model_.ir_version < kFirstIrWithDefaults || scope.outer != nullptr) {
        constant_inputs_.emplace_back(info.name);
        return {};
    }
    const ValueId id = *scope.values.find(info.name);
    const Tensor& value = *scope.builder.graph().value(id).constant;
    Result<TypeInfo> declared = read_type(info.type);
    if (!declared.ok()) {
        return std::move(declared).error().with_node(fmt::format("value '{}'", info.name));
    }
    // What is not declared is open: the initializer is one value of many.
    DefaultInput input{std::string(info.name), *std::move(declared)};
    if (input.type.is_tensor() && input.type.dtype == DType::kUndefined) {
        input.type.dtype = value.dtype();
    }
    LEAT_RETURN_IF_ERROR(check_default(input, value));
    scope.builder.open_constant(id, input.type);
    scope.builder.graph().default_inputs.push_back(std::move(input));
    return {};
}

Status Importer::add_outputs(Scope& scope, const GraphProto& graph) {
    NameTable<bool> seen;
    for (const ValueInfoProto& info : graph.output) {
        std::string name(info.name);
        if (!seen.insert(info.name)) {
            if (scope.outer == nullptr) {
                return duplicate_name(info.name, "graph output");
            }
            name = scope.builder.unique_name(name);  // a body's outputs go by their numbers
        }
        const std::optional<ValueId> id = scope.find(info.name);
        if (!id || !id->valid()) {
            return invalid_argument("nothing produces the graph's output '{}'", info.name)
                .with_node(fmt::format("graph output '{}'", info.name));
        }
        scope.builder.graph().outputs.push_back(*id);
        scope.builder.graph().output_names.push_back(std::move(name));
    }
    return {};
}

Result<int64_t> Importer::opset_of(const Scope& scope, std::string_view domain) const {
    for (const Opsets* opsets : {scope.opsets, &opsets_}) {
        if (const auto found = opsets->find(domain); found != opsets->end()) {
            return found->second;
        }
    }
    if (domain.empty()) {
        return invalid_argument("the model does not import an opset of the default domain");
    }
    return 1;
}

// Before any node, so that a name that occurs twice is found wherever it is.
Status Importer::declare_outputs(Scope& scope, const std::vector<NodeProto>& nodes) {
    NameTable<bool> seen;
    seen.reserve(nodes.size());
    for (const NodeProto& node : nodes) {
        for (const std::string_view name : node.output) {
            if (name.empty()) {
                continue;
            }
            if (!seen.insert(name)) {
                return duplicate_name(name, "a node's output").with_node(label_of(node));
            }
            if (scope.promised.count(name) != 0) {
                continue;
            }
            if (scope.values.contains(name)) {
                return duplicate_name(name, "a node's output").with_node(label_of(node));
            }
            LEAT_RETURN_IF_ERROR(scope.add_value(name).error());
        }
    }
    return {};
}

Status Importer::import_nodes(Scope& scope, const std::vector<NodeProto>& nodes) {
    LEAT_RETURN_IF_ERROR(count_inlined(nodes.size()));
    LEAT_RETURN_IF_ERROR(declare_outputs(scope, nodes));
    LEAT_ASSIGN_OR_RETURN(const std::vector<const NodeProto*> order, order_nodes(nodes));
    for (const NodeProto* node : order) {
        if (Status status = import_node(scope, *node); !status.ok()) {
            return std::move(status).with_node(label_of(*node));
        }
    }
    return {};
}

Result<BoundAttributes> Importer::bind_attributes(Scope& scope, const NodeProto& proto) {
    BoundAttributes bound;
    for (const AttributeProto& attribute : proto.attribute) {
        BoundAttribute value{&attribute, &scope};
        if (!attribute.ref_attr_name.empty()) {
            if (scope.arguments == nullptr) {
                return invalid_argument("attribute '{}' refers to '{}' outside of any function",
                                        attribute.name, attribute.ref_attr_name);
            }
            const auto found = scope.arguments->find(attribute.ref_attr_name);
            if (found == scope.arguments->end()) {
                continue;  // the call leaves it out and there is no default: so does this node
            }
            value = found->second;
        }
        LEAT_RETURN_IF_ERROR(check_value_field(*value.proto));
        if (!bound.emplace(attribute.name, value).second) {
            return invalid_argument("attribute '{}' occurs twice", attribute.name);
        }
    }
    return bound;
}

Status Importer::import_node(Scope& scope, const NodeProto& proto) {
    if (proto.op_type.empty()) {
        return invalid_argument("the node has no operator");
    }
    LEAT_ASSIGN_OR_RETURN(BoundAttributes attributes, bind_attributes(scope, proto));
    const auto function =
        functions_.find(function_key(proto.domain, proto.op_type, proto.overload));
    if (function != functions_.end()) {
        LEAT_RETURN_IF_ERROR(check_call(*function->second, given_attributes(attributes)));
        return inline_function(scope, proto, *function->second, std::move(attributes));
    }
    const std::string domain = normalized(proto.domain);
    LEAT_ASSIGN_OR_RETURN(const int64_t opset, opset_of(scope, domain));
    std::erase_if(attributes, [&](const auto& attribute) {
        return is_ignored(attribute.first, domain, opset);
    });
    LEAT_RETURN_IF_ERROR(
        check_operator(domain, proto.op_type, opset, given_attributes(attributes)));
    if (domain.empty() && proto.op_type == "Constant") {
        return import_constant(scope, proto, attributes);
    }
    return import_operator(scope, proto, attributes, opset);
}

Status Importer::import_operator(Scope& scope,
                                 const NodeProto& proto,
                                 const BoundAttributes& attributes,
                                 int64_t opset) {
    NodeData node;
    node.name = scope.name_inside(name_of(proto));
    node.domain = normalized(proto.domain);
    node.op_type = proto.op_type;
    LEAT_ASSIGN_OR_RETURN(node.inputs, scope.resolve_inputs(proto));
    for (const auto& [name, bound] : attributes) {
        LEAT_ASSIGN_OR_RETURN(std::optional<AttributeValue> value, attribute_value(scope, bound));
        if (value) {
            node.attributes.insert_or_assign(std::string(name), std::move(*value));
        }
    }
    scope.builder.graph().close_bodies(node);
    for (const std::string_view name : proto.output) {
        node.outputs.push_back(name.empty() ? ValueId{} : *scope.values.find(name));
    }
    node.def = find_op(node.domain, node.op_type);
    drop_absent_outputs(node);
    LEAT_ASSIGN_OR_RETURN(node.device_configurations, read_device_configurations(model_, proto));
    return add_upgraded(scope.builder, std::move(node), opset);
}

Status Importer::import_constant(Scope& scope,
                                 const NodeProto& proto,
                                 const BoundAttributes& attributes) {
    if (attributes.size() != 1 || proto.output.size() != 1 || proto.output[0].empty()) {
        return invalid_argument(
                   "a constant needs one output and one attribute: 'value', 'sparse_value', "
                   "'value_int', 'value_float', 'value_string' or a list of these")
            .with_found(
                fmt::format("{} outputs, {} attributes", proto.output.size(), attributes.size()));
    }
    LEAT_ASSIGN_OR_RETURN(Tensor tensor, read_constant(*attributes.begin()->second.proto, source_));
    scope.builder.set_constant(*scope.values.find(proto.output[0]), std::move(tensor));
    return {};
}

Result<std::optional<AttributeValue>> Importer::attribute_value(Scope& scope,
                                                                const BoundAttribute& bound) {
    const AttributeProto& proto = *bound.proto;
    if (proto.type != AttributeProto::Type::kGraph) {
        return read_attribute(proto, source_);
    }
    const GraphProto empty;
    LEAT_ASSIGN_OR_RETURN(Graph body,
                          import_body(scope, *bound.scope, proto.g == nullptr ? empty : *proto.g));
    return std::optional<AttributeValue>(std::move(body));
}

Result<Graph> Importer::import_body(Scope& around, Scope& outer, const GraphProto& graph) {
    GraphBuilder builder(&around.builder, needs_types(*outer.opsets));
    Scope scope{
        .builder = builder, .outer = &outer, .opsets = outer.opsets, .arguments = outer.arguments};
    LEAT_RETURN_IF_ERROR(check_nesting());
    ++nesting_;
    LEAT_RETURN_IF_ERROR(import_graph(scope, graph));
    --nesting_;
    return builder.take();
}

Status Importer::hand_down_stages(GraphData& graph, const NodeProto& call, int first) const {
    LEAT_ASSIGN_OR_RETURN(const std::vector<NodeDeviceConfiguration> configurations,
                          read_device_configurations(model_, call));
    for (int n = first; n < graph.node_count(); ++n) {
        NodeData& node = graph.nodes[size_t(n)];
        if (node.device_configurations.empty()) {
            node.device_configurations = stages_of(configurations);
        }
    }
    return {};
}

Status Importer::inline_function(Scope& scope,
                                 const NodeProto& proto,
                                 const FunctionProto& function,
                                 BoundAttributes arguments) {
    if (std::find(active_functions_.begin(), active_functions_.end(), &function) !=
        active_functions_.end()) {
        return invalid_argument("function '{}' calls itself", function.name)
            .with_needed("functions without recursion");
    }
    LEAT_RETURN_IF_ERROR(check_nesting());
    FunctionCall call(scope, proto, function, std::move(arguments));
    LEAT_RETURN_IF_ERROR(call.bind_operands());
    active_functions_.push_back(&function);
    ++nesting_;
    const int first = scope.builder.graph().node_count();
    LEAT_RETURN_IF_ERROR(import_nodes(call.body(), function.node));
    LEAT_RETURN_IF_ERROR(hand_down_stages(scope.builder.graph(), proto, first));
    --nesting_;
    active_functions_.pop_back();
    return call.finish();
}

}  // namespace

Result<std::unique_ptr<GraphData>> import_model(const ModelProto& model,
                                                const Source& source,
                                                const std::string& file,
                                                const OperatorSource* operators) {
    return Importer(model, source, operators).run(file);
}

}  // namespace leat::onnx
