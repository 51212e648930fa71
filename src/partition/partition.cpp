#include "partition/partition.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>
#include <variant>

#include "base/check.h"
#include "graph/part_node.h"

namespace leat {
namespace {

bool reads_only_shape(const NodeData& node) {
    return node.domain.empty() && (node.op_type == "Shape" || node.op_type == "Size");
}

class NodePlacer {
  public:
    NodePlacer(const GraphData& graph,
               std::span<DeviceAnswers> answers,
               std::span<const int> pins,
               bool asks_all)
        : graph_(graph),
          answers_(answers),
          pins_(pins),
          asks_all_(asks_all),
          wanted_(graph.values.size()),
          known_(graph.values.size()),
          depends_on_data_(graph.values.size()) {
        placement_.device_of_node.assign(graph.nodes.size(), kNowhere);
    }

    NodePlacement run() {
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
                if (is_host_input(bits, i) && node.inputs[i].valid()) {
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

    // False: the node is pinned to another device.
    bool may_go_to(size_t d, size_t n) const {
        return pins_.empty() || pins_[n] == kNotPinned || pins_[n] == int(d);
    }

    // Of the first device that takes the node.
    uint32_t host_inputs_of(size_t n) const {
        const OpDef* def = graph_.nodes[n].def;
        const uint32_t own = def == nullptr ? 0 : shape_inputs_of(graph_.nodes[n]);
        for (size_t d = 0; d < answers_.size(); ++d) {
            if (may_go_to(d, n) && answers_[d].nodes[n].refusal.empty()) {
                return own | answers_[d].nodes[n].host_inputs;
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
            if (is_known && (is_wanted(node) || (!depends && gives_extents(node)))) {
                placement_.device_of_node[n] = kKnownAtPlanning;
            }
        }
    }

    // Numbers as shapes are made of: few, so that planning computes them whatever happens.
    bool gives_extents(const NodeData& node) const {
        return std::all_of(node.outputs.begin(), node.outputs.end(), [this](ValueId id) {
            const TypeInfo& type = id.valid() ? graph_.value(id).type : TypeInfo();
            return !id.valid() || (type.rank() >= 0 && type.rank() <= 1 &&
                                   (type.dtype == DType::kInt64 || type.dtype == DType::kInt32 ||
                                    type.dtype == DType::kBool));
        });
    }

    bool may_be_known(const NodeData& node) const {
        if (node.def == nullptr || node.def->nondeterministic || node.has_bodies()) {
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
        const bool is_known = device == kKnownAtPlanning;
        for (size_t d = 0; !is_known && d < answers_.size(); ++d) {
            if (!may_go_to(d, n) || (device != kNowhere && !asks_all_)) {
                continue;
            }
            std::string& refusal = answers_[d].nodes[n].refusal;
            if (refusal.empty() && !answers_[d].is_host) {
                refusal = refusal_of_plan(graph_.nodes[n], answers_[d].nodes[n]);
            }
            device = device == kNowhere && refusal.empty() ? int(d) : device;
        }
    }

    // Why a device cannot get the node from the host's plan; empty if it can.
    std::string refusal_of_plan(const NodeData& node, const NodeAnswer& answer) const {
        for (size_t i = 0; i < node.inputs.size(); ++i) {
            const ValueId id = node.inputs[i];
            if (!id.valid()) {
                continue;
            }
            const ValueData& value = graph_.value(id);
            if (!value.type.is_tensor() || value.type.dtype == DType::kString) {
                return fmt::format("input '{}' is {}", value.name, value.type.to_string());
            }
            if (is_host_input(answer.host_inputs, i) && !known_[at(id)]) {
                return fmt::format("input '{}' must be known before the run, and is computed by it",
                                   value.name);
            }
        }
        for (const auto& [name, attribute] : node.attributes) {
            const auto* tensor = std::get_if<Tensor>(&attribute);
            if (tensor != nullptr && tensor->dtype() == DType::kString) {
                return fmt::format("attribute '{}' is a tensor of strings", name);
            }
        }
        for (const ValueId id : node.outputs) {
            if (!id.valid()) {
                continue;
            }
            const ValueData& value = graph_.value(id);
            if (!value.type.is_tensor() || value.type.dtype == DType::kString) {
                return fmt::format("output '{}' is {}", value.name, value.type.to_string());
            }
            if (is_open_output(node, value.output_index)) {
                return fmt::format("only a run knows the shape of output '{}'", value.name);
            }
        }
        return {};
    }

    const GraphData& graph_;
    std::span<DeviceAnswers> answers_;
    std::span<const int> pins_;  // by node
    bool asks_all_;
    std::vector<bool> wanted_;           // by value: must be known before the run
    std::vector<bool> known_;            // by value: will be
    std::vector<bool> depends_on_data_;  // by value: on elements of a graph input
    NodePlacement placement_;
};

// Copies the values of a cluster into its body.
class BodyBuilder {
  public:
    BodyBuilder(const GraphData& graph, std::span<const int32_t> streamed)
        : graph_(graph), streamed_(streamed) {
        body_.name = graph.name;
        body_.file = graph.file;
        body_.opset_imports = graph.opset_imports;
    }

    void add_node(NodeId id) {
        NodeData node = graph_.node(id);
        const NodeId own{int32_t(body_.nodes.size())};
        for (ValueId& input : node.inputs) {
            input = input.valid() ? operand(input) : input;
        }
        for (size_t i = 0; i < node.outputs.size(); ++i) {
            if (node.outputs[i].valid()) {
                node.outputs[i] = copy(node.outputs[i]);
                ValueData& value = body_.value(node.outputs[i]);
                value.producer = own;
                value.output_index = int32_t(i);
            }
        }
        body_.nodes.push_back(std::move(node));
    }
    // Before a node that reads it.
    void add_operand(ValueId id) { (void)operand(id); }
    void add_output(ValueId id) {
        body_.outputs.push_back(copies_.at(id.index));
        body_.output_names.push_back(graph_.value(id).name);
    }
    // Of the whole graph, by input of the body.
    std::vector<ValueId> inputs() const { return inputs_; }
    // By input.
    std::vector<bool> streamed_inputs() const {
        std::vector<bool> are_streamed;
        for (const ValueId id : inputs_) {
            are_streamed.push_back(is_streamed(id));
        }
        return are_streamed;
    }
    GraphData take() { return std::move(body_); }

  private:
    ValueId copy(ValueId id) {
        const ValueId own{int32_t(body_.values.size())};
        ValueData& value = body_.values.emplace_back(graph_.value(id));
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
        if (is_streamed(id)) {
            body_.value(own).constant.reset();
        }
        if (!body_.value(own).constant) {
            body_.inputs.push_back(own);
            inputs_.push_back(id);
        }
        return own;
    }

    bool is_streamed(ValueId id) const {
        return std::binary_search(streamed_.begin(), streamed_.end(), id.index);
    }

    const GraphData& graph_;
    const std::span<const int32_t> streamed_;  // values of the whole graph, ascending
    GraphData body_;
    std::map<int32_t, ValueId> copies_;  // by value of the whole graph
    std::vector<ValueId> inputs_;
};

class Cutter {
  public:
    Cutter(const GraphData& graph,
           std::span<const int> cluster_of_node,
           std::span<const int> device_of_node,
           std::span<const std::vector<int32_t>> streamed)
        : graph_(graph),
          cluster_of_node_(cluster_of_node),
          device_of_node_(device_of_node),
          streamed_(streamed),
          uses_(graph.uses()) {}

    CutGraph run() {
        result_.graph = graph_;
        result_.graph.nodes.clear();
        for (ValueData& value : result_.graph.values) {
            value.producer = {};
        }
        std::vector<std::vector<NodeId>> clusters;
        for (size_t n = 0; n < graph_.nodes.size(); ++n) {
            if (const int cluster = cluster_of_node_[n]; cluster >= 0) {
                clusters.resize(std::max(clusters.size(), size_t(cluster) + 1));
                clusters[size_t(cluster)].push_back({int32_t(n)});
            } else if (device_of_node_[n] != kKnownAtPlanning) {
                add_node(graph_.nodes[n]);
            }
        }
        for (const std::vector<NodeId>& nodes : clusters) {
            add_cluster(nodes);
        }
        sort_nodes();
        return std::move(result_);
    }

  private:
    void add_node(NodeData node) {
        const NodeId own{result_.graph.node_count()};
        for (size_t i = 0; i < node.outputs.size(); ++i) {
            if (node.outputs[i].valid()) {
                result_.graph.value(node.outputs[i]).producer = own;
                result_.graph.value(node.outputs[i]).output_index = int32_t(i);
            }
        }
        result_.graph.nodes.push_back(std::move(node));
    }

    // What devices read before the run: first what decides shapes, then whatever else is known.
    void add_host_inputs(const std::vector<NodeId>& nodes, int cluster, BodyBuilder& builder) {
        for (const bool is_deciding : {true, false}) {
            for (const NodeId id : nodes) {
                add_host_inputs(graph_.node(id), cluster, is_deciding, builder);
            }
        }
    }
    void add_host_inputs(const NodeData& node,
                         int cluster,
                         bool is_deciding,
                         BodyBuilder& builder) {
        const uint32_t deciding = node.def == nullptr ? 0 : shape_inputs_of(node);
        for (size_t i = 0; i < node.inputs.size(); ++i) {
            const ValueId input = node.inputs[i];
            const NodeId producer = input.valid() ? graph_.value(input).producer : NodeId();
            const bool is_known =
                producer.valid() && device_of_node_[size_t(producer.index)] == kKnownAtPlanning;
            const bool is_outside = !producer.valid() || cluster_of(producer) != cluster;
            if (input.valid() && is_outside &&
                (is_deciding ? is_host_input(deciding, i) : is_known)) {
                builder.add_operand(input);
            }
        }
    }
    int cluster_of(NodeId node) const { return cluster_of_node_[size_t(node.index)]; }

    // An output for each result that somebody else needs.
    void add_cluster(const std::vector<NodeId>& nodes) {
        const size_t index = result_.bodies.size();
        BodyBuilder builder(graph_, streamed_.empty() ? std::span<const int32_t>()
                                                      : std::span<const int32_t>(streamed_[index]));
        // They are the first inputs: LeatExecutableInfo has bits for no more of them.
        add_host_inputs(nodes, int(index), builder);
        for (const NodeId id : nodes) {
            builder.add_node(id);
        }
        NodeData node = part_node(int64_t(index));
        node.inputs = builder.inputs();
        for (const NodeId id : nodes) {
            for (const ValueId output : graph_.node(id).outputs) {
                if (output.valid() && is_used_outside(output, int(index))) {
                    builder.add_output(output);
                    node.outputs.push_back(output);
                }
            }
        }
        result_.streamed_inputs.push_back(builder.streamed_inputs());
        result_.bodies.push_back(builder.take());
        add_node(std::move(node));
    }

    // What is known at planning reads shapes only.
    bool is_used_outside(ValueId id, int cluster) const {
        const InlineVector<NodeId, 2>& readers = uses_.readers[size_t(id.index)];
        return uses_.output_uses[size_t(id.index)] > 0 ||
               std::any_of(readers.begin(), readers.end(), [&](NodeId reader) {
                   const auto at = size_t(reader.index);
                   return cluster_of_node_[at] != cluster &&
                          device_of_node_[at] != kKnownAtPlanning;
               });
    }

    void sort_nodes() {
        const Result<std::vector<NodeId>> order = result_.graph.topological_order();
        LEAT_CHECK(order.ok(), "clusters wait for each other: {}", order.error().message());
        std::vector<NodeData> sorted;
        sorted.reserve(result_.graph.nodes.size());
        for (const NodeId id : *order) {
            sorted.push_back(std::move(result_.graph.node(id)));
        }
        result_.graph.nodes.clear();
        for (NodeData& node : sorted) {
            add_node(std::move(node));
        }
    }

    const GraphData& graph_;
    std::span<const int> cluster_of_node_;
    std::span<const int> device_of_node_;
    std::span<const std::vector<int32_t>> streamed_;  // by cluster; empty: none is
    GraphData::Uses uses_;
    CutGraph result_;
};

// Values that a part with the node reads before the run. Constants are not among its inputs.
std::set<int32_t> host_inputs_of(const GraphData& graph,
                                 const NodeData& node,
                                 const NodeAnswer& answer) {
    const uint32_t bits = answer.host_inputs | (node.def == nullptr ? 0 : shape_inputs_of(node));
    std::set<int32_t> values;
    for (size_t i = 0; i < node.inputs.size(); ++i) {
        const ValueId id = node.inputs[i];
        if (id.valid() && is_host_input(bits, i) && !graph.value(id).constant) {
            values.insert(id.index);
        }
    }
    return values;
}

// By node, the position of its key among all keys; -1: it has none.
template <class Key>
std::vector<int> number_keys(const std::vector<std::optional<Key>>& keys) {
    std::map<Key, int> numbers;
    for (const std::optional<Key>& key : keys) {
        if (key) {
            numbers[*key] = -1;
        }
    }
    int count = 0;
    for (auto& [key, number] : numbers) {
        number = count++;
    }
    std::vector<int> list;
    list.reserve(keys.size());
    for (const std::optional<Key>& key : keys) {
        list.push_back(key ? numbers.at(*key) : -1);
    }
    return list;
}

}  // namespace

NodePlacement place_nodes(const GraphData& graph,
                          std::span<DeviceAnswers> answers,
                          std::span<const int> pins) {
    return NodePlacer(graph, answers, pins, false).run();
}

NodePlacement place_nodes_asking_all(const GraphData& graph,
                                     std::span<DeviceAnswers> answers,
                                     std::span<const int> pins) {
    return NodePlacer(graph, answers, pins, true).run();
}

std::vector<int> find_clusters(const GraphData& graph,
                               std::span<const int> device_of_node,
                               std::span<const DeviceAnswers> answers,
                               std::span<const int> stages) {
    const auto stage_of = [stages](size_t node) { return stages.empty() ? 0 : stages[node]; };
    // Of devices on the way to each node in its stage, at most.
    std::vector<int> changes(graph.nodes.size());
    std::vector<std::optional<std::tuple<int, int, int>>> keys(graph.nodes.size());
    for (size_t n = 0; n < graph.nodes.size(); ++n) {
        const int device = device_of_node[n];
        for (const ValueId id : graph.nodes[n].inputs) {
            const NodeId producer = id.valid() ? graph.value(id).producer : NodeId();
            const auto before = size_t(producer.index);
            if (!producer.valid() || device_of_node[before] < 0 || stage_of(before) < stage_of(n)) {
                continue;
            }
            const int change = device_of_node[before] != device ? 1 : 0;
            changes[n] = std::max(changes[n], changes[before] + change);
        }
        if (device >= 0 && !answers[size_t(device)].is_host) {
            keys[n] = {stage_of(n), changes[n], device};
        }
    }
    return number_keys(keys);
}

// No way leads back to a lower stage, so what leaves a stage of a cluster and comes back to it
// would have left the cluster too.
std::vector<int> split_by_stage(std::span<const int> cluster_of_node, std::span<const int> stages) {
    if (stages.empty()) {
        return {cluster_of_node.begin(), cluster_of_node.end()};
    }
    std::vector<std::optional<std::pair<int, int>>> keys(cluster_of_node.size());
    for (size_t n = 0; n < keys.size(); ++n) {
        if (cluster_of_node[n] >= 0) {
            keys[n] = {cluster_of_node[n], stages[n]};
        }
    }
    return number_keys(keys);
}

// Nodes are in order, so that no way leads from a later piece of a cluster to an earlier one.
std::vector<int> split_by_host_inputs(const GraphData& graph,
                                      std::span<const int> cluster_of_node,
                                      std::span<const int> device_of_node,
                                      std::span<const DeviceAnswers> answers) {
    struct Piece {
        int number = 0;
        std::set<int32_t> host_inputs;
    };
    std::map<int, Piece> last_pieces;  // by cluster
    std::vector<std::optional<std::pair<int, int>>> keys(cluster_of_node.size());
    for (size_t n = 0; n < keys.size(); ++n) {
        if (cluster_of_node[n] < 0) {
            continue;
        }
        Piece& piece = last_pieces[cluster_of_node[n]];
        const std::set<int32_t> own =
            host_inputs_of(graph, graph.nodes[n], answers[size_t(device_of_node[n])].nodes[n]);
        piece.host_inputs.insert(own.begin(), own.end());
        if (piece.host_inputs.size() > kMostHostInputs) {
            ++piece.number;
            piece.host_inputs = own;
        }
        keys[n] = {cluster_of_node[n], piece.number};
    }
    return number_keys(keys);
}

CutGraph cut_clusters(const GraphData& graph,
                      std::span<const int> cluster_of_node,
                      std::span<const int> device_of_node,
                      std::span<const std::vector<int32_t>> streamed) {
    return Cutter(graph, cluster_of_node, device_of_node, streamed).run();
}

}  // namespace leat
