#include "partition/partition.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "graph/inference.h"

namespace leat {
namespace {

bool has_bit(uint32_t bits, size_t i) {
    return i < 32 && (bits >> i & 1U) != 0;
}

bool reads_only_shape(const NodeData& node) {
    return node.op_type == "Shape" || node.op_type == "Size";
}

class Placer {
  public:
    Placer(const GraphData& graph, std::span<DeviceAnswers> answers)
        : graph_(graph),
          answers_(answers),
          wanted_(graph.values.size()),
          known_(graph.values.size()),
          depends_on_data_(graph.values.size()),
          device_of_value_(graph.values.size(), kKnownAtPlanning) {
        placement_.device_of_node.assign(graph.nodes.size(), kNowhere);
    }

    Placement run() {
        find_wanted();
        find_known();
        for (size_t n = 0; n < graph_.nodes.size(); ++n) {
            place(n);
        }
        return std::move(placement_);
    }

  private:
    static size_t at(ValueId id) { return size_t(id.index); }

    // Backwards: values that must be known before the run, and what they are computed from.
    void find_wanted() {
        for (size_t n = graph_.nodes.size(); n-- > 0;) {
            const NodeData& node = graph_.nodes[n];
            const uint32_t bits = host_inputs_of(n);
            for (size_t i = 0; i < node.inputs.size(); ++i) {
                if (has_bit(bits, i) && node.inputs[i].valid()) {
                    wanted_[at(node.inputs[i])] = true;
                }
            }
            if (!is_wanted(node) || reads_only_shape(node)) {
                continue;
            }
            for (const ValueId id : node.inputs) {
                if (id.valid()) {
                    wanted_[at(id)] = true;
                }
            }
        }
        for (size_t i = 0; i < graph_.inputs.size(); ++i) {
            if (wanted_[at(graph_.inputs[i])]) {
                placement_.deciding_inputs.push_back(int(i));
            }
        }
    }

    bool is_wanted(const NodeData& node) const {
        return std::any_of(node.outputs.begin(), node.outputs.end(),
                           [this](ValueId id) { return id.valid() && wanted_[at(id)]; });
    }

    // Of the first device that takes the node.
    uint32_t host_inputs_of(size_t n) const {
        const OpDef* def = graph_.nodes[n].def;
        const uint32_t own = def == nullptr ? 0 : def->shape_inputs;
        for (const DeviceAnswers& device : answers_) {
            if (device.nodes[n].refusal.empty()) {
                return own | device.nodes[n].host_inputs;
            }
        }
        return own;
    }

    // Forwards: what follows from shapes and from the values of deciding inputs.
    void find_known() {
        for (size_t i = 0; i < graph_.values.size(); ++i) {
            known_[i] = graph_.values[i].constant.has_value();
        }
        for (const int input : placement_.deciding_inputs) {
            known_[at(graph_.inputs[size_t(input)])] = true;
            depends_on_data_[at(graph_.inputs[size_t(input)])] = true;
        }
        for (size_t n = 0; n < graph_.nodes.size(); ++n) {
            const NodeData& node = graph_.nodes[n];
            const bool is_known = may_be_known(node);
            const bool depends =
                !reads_only_shape(node) &&
                std::any_of(node.inputs.begin(), node.inputs.end(),
                            [this](ValueId id) { return id.valid() && depends_on_data_[at(id)]; });
            for (const ValueId id : node.outputs) {
                if (id.valid()) {
                    known_[at(id)] = is_known;
                    depends_on_data_[at(id)] = depends;
                }
            }
            if (is_known && (!depends || is_wanted(node))) {
                placement_.device_of_node[n] = kKnownAtPlanning;
            }
        }
    }

    bool may_be_known(const NodeData& node) const {
        if (node.def == nullptr || node.def->nondeterministic || !node.subgraphs.empty()) {
            return false;
        }
        const bool is_computable = node.def->reference != nullptr || node.def->is_view;
        return reads_only_shape(node) ||
               (is_computable &&
                std::all_of(node.inputs.begin(), node.inputs.end(),
                            [this](ValueId id) { return !id.valid() || known_[at(id)]; }));
    }

    void place(size_t n) {
        int& device = placement_.device_of_node[n];
        for (size_t d = 0; device == kNowhere && d < answers_.size(); ++d) {
            std::string& refusal = answers_[d].nodes[n].refusal;
            if (refusal.empty() && !answers_[d].is_host) {
                refusal = refusal_of_plan(graph_.nodes[n], answers_[d].nodes[n], int(d));
            }
            device = refusal.empty() ? int(d) : kNowhere;
        }
        for (const ValueId id : graph_.nodes[n].outputs) {
            if (id.valid()) {
                device_of_value_[at(id)] = device;
            }
        }
    }

    // Why a device cannot get the node from the host's plan; empty if it can.
    std::string refusal_of_plan(const NodeData& node, const NodeAnswer& answer, int device) const {
        for (size_t i = 0; i < node.inputs.size(); ++i) {
            const ValueId id = node.inputs[i];
            if (!id.valid()) {
                continue;
            }
            const ValueData& value = graph_.value(id);
            if (!value.type.is_tensor() || value.type.dtype == DType::kString) {
                return fmt::format("input '{}' is {}", value.name, value.type.to_string());
            }
            if (has_bit(answer.host_inputs, i) && !known_[at(id)]) {
                return fmt::format("input '{}' must be known before the run, and is computed by it",
                                   value.name);
            }
            const bool is_from_elsewhere = !value.constant && device_of_value_[at(id)] != device;
            if (is_from_elsewhere && value.type.rank() < 0) {
                return fmt::format("the rank of input '{}' is not known", value.name);
            }
        }
        for (const ValueId id : node.outputs) {
            if (id.valid() && (!graph_.value(id).type.is_tensor() ||
                               graph_.value(id).type.dtype == DType::kString)) {
                return fmt::format("output '{}' is {}", graph_.value(id).name,
                                   graph_.value(id).type.to_string());
            }
        }
        return {};
    }

    const GraphData& graph_;
    std::span<DeviceAnswers> answers_;
    std::vector<bool> wanted_;           // by value: must be known before the run
    std::vector<bool> known_;            // by value: will be
    std::vector<bool> depends_on_data_;  // by value: on elements of a graph input
    std::vector<int> device_of_value_;
    Placement placement_;
};

Status infer_body(InferContext& context) {
    const GraphData& body = *context.node().subgraphs.at("body");
    std::vector<ValueFact> given;
    given.reserve(size_t(context.input_count()));
    for (int i = 0; i < context.input_count(); ++i) {
        given.push_back(context.has_input(i) ? context.fact(i) : ValueFact());
    }
    InferenceOptions options;
    options.checks_extents = false;
    Result<std::vector<ValueFact>> facts = infer_graph(body, given, options);
    if (!facts.ok()) {
        return std::move(facts).error();
    }
    for (int i = 0; i < context.output_count(); ++i) {
        context.set_output(i, (*facts)[size_t(body.outputs[size_t(i)].index)].type);
    }
    return {};
}

OpDef make_device_subgraph_op() {
    OpDef def;
    def.name = "DeviceSubgraph";
    def.domain = "leat";
    def.min_inputs = 0;
    def.max_inputs = -1;
    def.max_outputs = -1;
    def.infer = infer_body;
    def.infers_bodies = true;
    // Its results are the device's, even where the host could compute them.
    def.nondeterministic = true;
    return def;
}

constexpr const char* kNumber = "number";

// Copies the values of a cluster into its body.
class BodyBuilder {
  public:
    explicit BodyBuilder(const GraphData& graph)
        : graph_(graph), body_(std::make_shared<GraphData>()) {
        body_->name = graph.name;
        body_->file = graph.file;
        body_->opset_imports = graph.opset_imports;
    }

    void add_node(NodeId id) {
        NodeData node = graph_.node(id);
        const NodeId own{int32_t(body_->nodes.size())};
        for (ValueId& input : node.inputs) {
            input = input.valid() ? operand(input) : input;
        }
        for (size_t i = 0; i < node.outputs.size(); ++i) {
            if (node.outputs[i].valid()) {
                node.outputs[i] = copy(node.outputs[i]);
                ValueData& value = body_->value(node.outputs[i]);
                value.producer = own;
                value.output_index = int32_t(i);
            }
        }
        body_->nodes.push_back(std::move(node));
    }
    void add_output(ValueId id) {
        body_->outputs.push_back(copies_.at(id.index));
        body_->output_names.push_back(graph_.value(id).name);
    }
    // Of the whole graph, by input of the body.
    std::vector<ValueId> inputs() const { return inputs_; }
    std::shared_ptr<const GraphData> take() { return std::move(body_); }

  private:
    ValueId copy(ValueId id) {
        const ValueId own{int32_t(body_->values.size())};
        ValueData& value = body_->values.emplace_back(graph_.value(id));
        value.producer = {};
        copies_[id.index] = own;
        return own;
    }
    // Made once; what the cluster does not compute is an input, unless it is a constant.
    ValueId operand(ValueId id) {
        if (const auto found = copies_.find(id.index); found != copies_.end()) {
            return found->second;
        }
        const ValueId own = copy(id);
        if (!graph_.value(id).constant) {
            body_->inputs.push_back(own);
            inputs_.push_back(id);
        }
        return own;
    }

    const GraphData& graph_;
    std::shared_ptr<GraphData> body_;
    std::map<int32_t, ValueId> copies_;  // by value of the whole graph
    std::vector<ValueId> inputs_;
};

}  // namespace

Placement place_nodes(const GraphData& graph, std::span<DeviceAnswers> answers) {
    return Placer(graph, answers).run();
}

std::vector<Cluster> find_clusters(const GraphData& graph,
                                   std::span<const int> device_of_node,
                                   std::span<const DeviceAnswers> answers) {
    std::vector<int> changes(graph.nodes.size());     // of devices on the way to each node, at most
    std::map<std::pair<int, int>, Cluster> clusters;  // by changes and device
    for (size_t n = 0; n < graph.nodes.size(); ++n) {
        const int device = device_of_node[n];
        for (const ValueId id : graph.nodes[n].inputs) {
            const NodeId producer = id.valid() ? graph.value(id).producer : NodeId();
            if (!producer.valid() || device_of_node[size_t(producer.index)] < 0) {
                continue;
            }
            const auto before = size_t(producer.index);
            const int change = device_of_node[before] != device ? 1 : 0;
            changes[n] = std::max(changes[n], changes[before] + change);
        }
        if (device >= 0 && !answers[size_t(device)].is_host) {
            Cluster& cluster = clusters[{changes[n], device}];
            cluster.device = device;
            cluster.nodes.push_back({int32_t(n)});
        }
    }
    std::vector<Cluster> list;
    list.reserve(clusters.size());
    for (auto& [key, cluster] : clusters) {
        list.push_back(std::move(cluster));
    }
    return list;
}

const OpDef& device_subgraph_op() {
    static const OpDef kDef = make_device_subgraph_op();
    return kDef;
}

int64_t cluster_number(const NodeData& node) {
    return node.attr(kNumber, int64_t{-1});
}

std::shared_ptr<const GraphData> cut_cluster(GraphData& graph,
                                             const Cluster& cluster,
                                             int64_t number) {
    BodyBuilder builder(graph);
    std::vector<bool> is_inside(graph.nodes.size());
    for (const NodeId id : cluster.nodes) {
        builder.add_node(id);
        is_inside[size_t(id.index)] = true;
    }
    const GraphData::Uses uses = graph.uses();
    NodeData node;
    node.name = fmt::format("device subgraph {}", number);
    node.domain = "leat";
    node.op_type = "DeviceSubgraph";
    node.def = &device_subgraph_op();
    node.inputs = builder.inputs();
    node.attributes.emplace(kNumber, number);
    const NodeId own{graph.node_count()};
    for (const NodeId id : cluster.nodes) {
        for (const ValueId output : graph.node(id).outputs) {
            if (!output.valid()) {
                continue;
            }
            const std::vector<NodeId>& readers = uses.readers[size_t(output.index)];
            const bool is_used = uses.output_uses[size_t(output.index)] > 0 ||
                                 std::any_of(readers.begin(), readers.end(), [&](NodeId reader) {
                                     return !is_inside[size_t(reader.index)];
                                 });
            if (is_used) {
                builder.add_output(output);
                graph.value(output).producer = own;
                graph.value(output).output_index = int32_t(node.outputs.size());
                node.outputs.push_back(output);
            }
        }
        graph.node(id).dead = true;
    }
    std::shared_ptr<const GraphData> body = builder.take();
    // Nobody changes it; nodes hold their bodies as they are read from files.
    node.subgraphs.emplace("body", std::const_pointer_cast<GraphData>(body));
    graph.nodes.push_back(std::move(node));
    return body;
}

}  // namespace leat
