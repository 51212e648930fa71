// NodeData's accessors and the structure of GraphData: adding, using, ordering and removing.
#include "graph/graph_data.h"

#include <fmt/core.h>

#include <algorithm>

#include "base/error.h"
#include "graph/bodies.h"
#include "graph/op_def.h"

namespace leat {
namespace {

template <class T>
const T* find_attribute(const Attributes& attributes, std::string_view key) {
    const auto found = attributes.find(key);
    return found == attributes.end() ? nullptr : std::get_if<T>(&found->second);
}

template <class Data, class Node>
std::vector<NodeBody<Data>> bodies_of(Node& node) {
    std::vector<NodeBody<Data>> bodies;
    for (auto& [key, value] : node.attributes) {
        if (auto* body = std::get_if<Graph>(&value)) {
            bodies.push_back({key, &body->data()});
        }
    }
    return bodies;
}

template <class OnValue>
void for_each_read(const NodeData& node, OnValue on_value) {
    for (ValueId id : node.inputs) {
        if (id.valid()) {
            on_value(id);
        }
    }
}

// Depth-first from each node in turn, so that a graph in order stays as it is and a node added at
// the end comes right before its first reader.
class TopologicalSort {
  public:
    explicit TopologicalSort(const GraphData& graph) : graph_(graph), state_(graph.nodes.size()) {}

    Result<std::vector<NodeId>> sort() {
        order_.reserve(graph_.nodes.size());
        for (int n = 0; n < graph_.node_count(); ++n) {
            LEAT_RETURN_IF_ERROR(visit(n));
        }
        return std::move(order_);
    }

  private:
    enum class State : uint8_t { kNew, kOpen, kDone };
    struct Frame {
        int node;
        size_t next_input = 0;
    };

    Status visit(int root) {
        open(root);
        while (!stack_.empty()) {
            Frame& top = stack_.back();
            const std::vector<ValueId>& inputs = graph_.nodes[size_t(top.node)].inputs;
            if (top.next_input == inputs.size()) {
                state_[size_t(top.node)] = State::kDone;
                order_.push_back({top.node});
                stack_.pop_back();
                continue;
            }
            const ValueId id = inputs[top.next_input++];
            const NodeId producer = id.valid() ? graph_.value(id).producer : NodeId{};
            if (!producer.valid()) {
                continue;
            }
            if (state_[size_t(producer.index)] == State::kOpen) {
                return invalid_argument("the graph has a cycle: {}", describe_cycle(producer.index))
                    .with_file(graph_.file);
            }
            open(producer.index);
        }
        return {};
    }

    void open(int node) {
        if (state_[size_t(node)] == State::kNew && !graph_.nodes[size_t(node)].dead) {
            state_[size_t(node)] = State::kOpen;
            stack_.push_back({node});
        }
    }

    // The open nodes from the top down to `producer`, which the top one reads: in the order of the
    // data.
    std::string describe_cycle(int producer) const {
        constexpr size_t kMaxNamed = 16;
        std::string text = graph_.nodes[size_t(producer)].label();
        size_t i = stack_.size();
        for (; i > 0 && stack_[i - 1].node != producer && stack_.size() - i < kMaxNamed; --i) {
            text += " -> " + graph_.nodes[size_t(stack_[i - 1].node)].label();
        }
        return text + " -> " +
               (stack_[i - 1].node == producer ? graph_.nodes[size_t(producer)].label()
                                               : std::string("..."));
    }

    const GraphData& graph_;
    std::vector<State> state_;
    std::vector<Frame> stack_;
    std::vector<NodeId> order_;
};

}  // namespace

ValueData::ValueData() = default;
ValueData::ValueData(const ValueData&) = default;
ValueData::ValueData(ValueData&&) noexcept = default;
ValueData& ValueData::operator=(const ValueData&) = default;
ValueData& ValueData::operator=(ValueData&&) noexcept = default;
ValueData::~ValueData() = default;

EpilogueStep::EpilogueStep() = default;
EpilogueStep::EpilogueStep(const EpilogueStep&) = default;
EpilogueStep::EpilogueStep(EpilogueStep&&) noexcept = default;
EpilogueStep& EpilogueStep::operator=(const EpilogueStep&) = default;
EpilogueStep& EpilogueStep::operator=(EpilogueStep&&) noexcept = default;
EpilogueStep::~EpilogueStep() = default;

NodeData::NodeData() = default;
NodeData::NodeData(const NodeData&) = default;
NodeData::NodeData(NodeData&&) noexcept = default;
NodeData& NodeData::operator=(const NodeData&) = default;
NodeData& NodeData::operator=(NodeData&&) noexcept = default;
NodeData::~NodeData() = default;

GraphData::GraphData() = default;
GraphData::GraphData(const GraphData&) = default;
GraphData::GraphData(GraphData&&) noexcept = default;
GraphData& GraphData::operator=(const GraphData&) = default;
GraphData& GraphData::operator=(GraphData&&) noexcept = default;
GraphData::~GraphData() = default;

std::string NodeData::label() const {
    const std::string op = domain.empty() ? op_type : domain + "." + op_type;
    return name.empty() ? fmt::format("node ({})", op) : fmt::format("node '{}' ({})", name, op);
}

int64_t NodeData::attr(std::string_view key, int64_t fallback) const {
    const auto* found = find_attribute<int64_t>(attributes, key);
    return found == nullptr ? fallback : *found;
}
float NodeData::attr(std::string_view key, float fallback) const {
    const auto* found = find_attribute<float>(attributes, key);
    return found == nullptr ? fallback : *found;
}
std::string NodeData::attr(std::string_view key, const char* fallback) const {
    const auto* found = find_attribute<std::string>(attributes, key);
    return found == nullptr ? fallback : *found;
}
const std::vector<int64_t>* NodeData::ints(std::string_view key) const {
    return find_attribute<std::vector<int64_t>>(attributes, key);
}
const std::vector<float>* NodeData::floats(std::string_view key) const {
    return find_attribute<std::vector<float>>(attributes, key);
}
const std::vector<std::string>* NodeData::strings(std::string_view key) const {
    return find_attribute<std::vector<std::string>>(attributes, key);
}
const Tensor* NodeData::tensor(std::string_view key) const {
    return find_attribute<Tensor>(attributes, key);
}
bool NodeData::has_bodies() const {
    return std::any_of(attributes.begin(), attributes.end(), [](const auto& attribute) {
        return std::holds_alternative<Graph>(attribute.second);
    });
}
const GraphData* NodeData::body(std::string_view key) const {
    const auto* found = find_attribute<Graph>(attributes, key);
    return found == nullptr ? nullptr : &found->data();
}
std::vector<NodeBody<const GraphData>> NodeData::bodies() const {
    return bodies_of<const GraphData>(*this);
}
std::vector<NodeBody<GraphData>> NodeData::bodies() {
    return bodies_of<GraphData>(*this);
}

ValueId GraphData::add_value(std::string value_name, TypeInfo type) {
    ValueData value;
    value.name = std::move(value_name);
    value.type = std::move(type);
    values.push_back(std::move(value));
    return {int32_t(values.size() - 1)};
}

ValueId GraphData::add_constant(std::string value_name, Tensor tensor) {
    const ValueId id =
        add_value(std::move(value_name), TypeInfo::tensor(tensor.dtype(), tensor.shape()));
    value(id).constant = std::move(tensor);
    return id;
}

NodeId GraphData::add_node(std::string domain,
                           std::string op_type,
                           std::vector<ValueId> node_inputs,
                           int output_count,
                           Attributes attributes,
                           std::string node_name) {
    const NodeId id{int32_t(nodes.size())};
    NodeData node;
    node.name = node_name.empty() ? fresh_name(op_type) : std::move(node_name);
    node.domain = domain == "ai.onnx" ? std::string() : std::move(domain);
    node.op_type = std::move(op_type);
    node.def = find_op(node.domain, node.op_type);
    node.inputs = std::move(node_inputs);
    node.attributes = std::move(attributes);
    for (int i = 0; i < output_count; ++i) {
        const std::string stem = i == 0 ? node.name : fmt::format("{}.{}", node.name, i);
        const ValueId output = add_value(fresh_name(stem), {});
        value(output).producer = id;
        value(output).output_index = i;
        node.outputs.push_back(output);
    }
    nodes.push_back(std::move(node));
    return id;
}

void drop_absent_outputs(NodeData& node) {
    if (node.def == nullptr || node.def->max_outputs < 0) {
        return;
    }
    std::vector<ValueId>& outputs = node.outputs;
    while (!outputs.empty() && !outputs.back().valid() &&
           !needs_name(*node.def, int(outputs.size()) - 1)) {
        outputs.pop_back();
    }
}

void GraphData::settle_outputs() {
    for (size_t n = 0; n < nodes.size(); ++n) {
        NodeData& node = nodes[n];
        drop_absent_outputs(node);
        const bool is_variadic = node.def != nullptr && node.def->max_outputs < 0;
        for (size_t i = 0; is_variadic && i < node.outputs.size(); ++i) {
            if (!node.outputs[i].valid() && !needs_name(*node.def, int(i))) {
                node.outputs[i] = add_value(fresh_name(fmt::format("{}.{}", node.name, i)), {});
                value(node.outputs[i]).producer = {int32_t(n)};
                value(node.outputs[i]).output_index = int32_t(i);
            }
        }
    }
}

std::string GraphData::fresh_name(std::string_view stem) {
    for (; indexed_values_ < values.size(); ++indexed_values_) {
        names_.emplace(values[indexed_values_].name, 0);
    }
    std::string candidate(stem);
    const auto taken = names_.find(candidate);
    if (taken == names_.end()) {
        return candidate;
    }
    int& counter = taken->second;
    do {
        candidate = fmt::format("{}_{}", stem, ++counter);
    } while (names_.count(candidate) != 0);
    return candidate;
}

void GraphData::close_bodies(NodeData& node) {
    const auto bodies = node.bodies();
    if (bodies.empty()) {
        return;
    }
    node.own_input_count = int32_t(node.inputs.size());
    std::map<int32_t, size_t> position;  // of what is captured, behind the node's own inputs
    for (const auto& [key, body] : bodies) {
        for (const Capture& capture : body->captures) {
            if (position.emplace(capture.outside.index, position.size()).second) {
                node.inputs.push_back(capture.outside);
            }
        }
    }
    for (const auto& [key, body] : bodies) {
        std::vector<ValueId> inside(position.size());
        for (const Capture& capture : body->captures) {
            inside[position.at(capture.outside.index)] = capture.inside;
        }
        for (size_t k = 0; k < inside.size(); ++k) {
            const ValueData& outside = value(node.inputs[node.own_inputs() + k]);
            body->inputs.push_back(
                inside[k].valid() ? inside[k]
                                  : body->add_value(body->fresh_name(outside.name), outside.type));
        }
        body->captures.clear();
    }
}

GraphData::Uses GraphData::uses() const {
    Uses result;
    result.readers.resize(values.size());
    result.output_uses.resize(values.size());
    for (size_t n = 0; n < nodes.size(); ++n) {
        if (nodes[n].dead) {
            continue;
        }
        for_each_read(nodes[n], [&](ValueId id) {
            result.readers[size_t(id.index)].push_back({int32_t(n)});
        });
    }
    for (ValueId id : outputs) {
        ++result.output_uses[size_t(id.index)];
    }
    return result;
}

Result<std::vector<NodeId>> GraphData::topological_order() const {
    return TopologicalSort(*this).sort();
}

bool GraphData::compact() {
    for (NodeData& node : nodes) {
        for (const auto& [key, body] : node.bodies()) {
            body->compact();
        }
    }
    Result<std::vector<NodeId>> order = topological_order();
    if (!order.ok()) {
        return false;  // verify() reports the cycle
    }
    std::vector<bool> needed(values.size(), false);
    std::vector<bool> keep(nodes.size(), false);
    for (ValueId id : outputs) {
        needed[size_t(id.index)] = true;
    }
    for (size_t i = order->size(); i-- > 0;) {
        const NodeId id = (*order)[i];
        const NodeData& candidate = node(id);
        keep[size_t(id.index)] = std::any_of(
            candidate.outputs.begin(), candidate.outputs.end(),
            [&](ValueId output) { return output.valid() && needed[size_t(output.index)]; });
        if (!keep[size_t(id.index)]) {
            continue;
        }
        for_each_read(candidate, [&](ValueId input) { needed[size_t(input.index)] = true; });
    }
    return renumber(*order, keep, needed);
}

bool GraphData::renumber(const std::vector<NodeId>& order,
                         const std::vector<bool>& keep_nodes,
                         std::vector<bool>& keep_values) {
    for (ValueId id : inputs) {
        keep_values[size_t(id.index)] = true;
    }
    for (NodeId id : order) {
        for (ValueId output : node(id).outputs) {
            // Unused outputs of a node that stays keep their place in its list.
            if (keep_nodes[size_t(id.index)] && output.valid()) {
                keep_values[size_t(output.index)] = true;
            }
        }
    }
    std::vector<ValueId> new_value(values.size());
    std::vector<ValueData> new_values;
    new_values.reserve(size_t(std::count(keep_values.begin(), keep_values.end(), true)));
    for (size_t v = 0; v < values.size(); ++v) {
        if (keep_values[v]) {
            new_value[v] = {int32_t(new_values.size())};
            new_values.push_back(std::move(values[v]));
            new_values.back().producer = {};
        }
    }
    auto map_ids = [&](std::vector<ValueId>& ids) {
        for (ValueId& id : ids) {
            id = id.valid() ? new_value[size_t(id.index)] : id;
        }
    };
    std::vector<NodeData> new_nodes;
    new_nodes.reserve(size_t(std::count(keep_nodes.begin(), keep_nodes.end(), true)));
    for (NodeId id : order) {
        if (!keep_nodes[size_t(id.index)]) {
            continue;
        }
        NodeData& moved = node(id);
        map_ids(moved.inputs);
        map_ids(moved.outputs);
        for (size_t i = 0; i < moved.outputs.size(); ++i) {
            if (moved.outputs[i].valid()) {
                ValueData& output = new_values[size_t(moved.outputs[i].index)];
                output.producer = {int32_t(new_nodes.size())};
                output.output_index = int32_t(i);
            }
        }
        new_nodes.push_back(std::move(moved));
    }
    map_ids(inputs);
    map_ids(outputs);
    const bool removed = new_nodes.size() != nodes.size() || new_values.size() != values.size();
    nodes = std::move(new_nodes);
    values = std::move(new_values);
    names_.clear();
    indexed_values_ = 0;
    return removed;
}

int64_t GraphData::parameter_bytes() const {
    int64_t bytes = 0;
    for_each_constant(*this, [&bytes](const Tensor& own) { bytes += own.byte_count(); });
    return bytes;
}

int GraphData::body_nesting() const {
    int deepest = 0;
    for (const NodeData& node : nodes) {
        for (const auto& [key, body] : node.bodies()) {
            deepest = std::max(deepest, 1 + body->body_nesting());
        }
    }
    return deepest;
}

}  // namespace leat
