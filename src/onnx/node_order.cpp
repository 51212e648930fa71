#include "onnx/node_order.h"

#include <functional>
#include <queue>
#include <unordered_map>
#include <unordered_set>

#include "base/error.h"

namespace leat::onnx {
namespace {

using Names = std::unordered_set<std::string_view>;

// Names that the graph reads from around it.
void collect_free_names(const GraphProto& graph, Names& free) {
    Names own;
    for (const ValueInfoProto& input : graph.input) {
        own.insert(input.name);
    }
    for (const TensorProto& tensor : graph.initializer) {
        own.insert(tensor.name);
    }
    for (const SparseTensorProto& tensor : graph.sparse_initializer) {
        own.insert(tensor.values.name);
    }
    for (const NodeProto& node : graph.node) {
        own.insert(node.output.begin(), node.output.end());
    }
    Names read;
    for (const NodeProto& node : graph.node) {
        read.insert(node.input.begin(), node.input.end());
        for (const AttributeProto& attribute : node.attribute) {
            if (attribute.g != nullptr) {
                collect_free_names(*attribute.g, read);
            }
        }
    }
    for (const ValueInfoProto& output : graph.output) {
        read.insert(output.name);
    }
    for (const std::string_view name : read) {
        if (own.count(name) == 0) {
            free.insert(name);
        }
    }
}

// For each node, the nodes whose results it reads.
std::vector<std::vector<size_t>> find_predecessors(const std::vector<NodeProto>& nodes) {
    std::unordered_map<std::string_view, size_t> producer;
    for (size_t n = 0; n < nodes.size(); ++n) {
        for (const std::string_view name : nodes[n].output) {
            if (!name.empty()) {
                producer.emplace(name, n);
            }
        }
    }
    std::vector<std::vector<size_t>> predecessors(nodes.size());
    for (size_t n = 0; n < nodes.size(); ++n) {
        Names read(nodes[n].input.begin(), nodes[n].input.end());
        for (const AttributeProto& attribute : nodes[n].attribute) {
            if (attribute.g != nullptr) {
                collect_free_names(*attribute.g, read);
            }
        }
        for (const std::string_view name : read) {
            if (const auto found = producer.find(name); found != producer.end()) {
                predecessors[n].push_back(found->second);
            }
        }
    }
    return predecessors;
}

// waiting: predecessors that could not be ordered either, by node.
Status cycle_error(const std::vector<NodeProto>& nodes,
                   const std::vector<std::vector<size_t>>& predecessors,
                   const std::vector<size_t>& waiting) {
    size_t node = 0;
    while (waiting[node] == 0) {
        ++node;
    }
    // Going backwards among waiting nodes ends in a cycle.
    std::vector<size_t> path;
    std::vector<size_t> position(nodes.size(), SIZE_MAX);
    while (position[node] == SIZE_MAX) {
        position[node] = path.size();
        path.push_back(node);
        for (const size_t predecessor : predecessors[node]) {
            if (waiting[predecessor] > 0) {
                node = predecessor;
                break;
            }
        }
    }
    constexpr size_t kMaxNamed = 8;
    std::string text;
    for (size_t i = path.size(); i > position[node] && path.size() - i < kMaxNamed; --i) {
        text += (text.empty() ? "" : " -> ") + label_of(nodes[path[i - 1]]);
    }
    return invalid_argument("the graph has a cycle: {}", text).with_node(label_of(nodes[node]));
}

}  // namespace

std::string_view name_of(const NodeProto& node) {
    if (!node.name.empty() || node.output.empty()) {
        return node.name;
    }
    return node.output[0];
}

std::string label_of(const NodeProto& node) {
    return fmt::format("node '{}' ({}{}{})", name_of(node), node.domain,
                       node.domain.empty() ? "" : ".", node.op_type);
}

Result<std::vector<const NodeProto*>> order_nodes(const std::vector<NodeProto>& nodes) {
    const std::vector<std::vector<size_t>> predecessors = find_predecessors(nodes);
    std::vector<std::vector<size_t>> successors(nodes.size());
    std::vector<size_t> waiting(nodes.size(), 0);
    std::priority_queue<size_t, std::vector<size_t>, std::greater<>> ready;
    for (size_t n = 0; n < nodes.size(); ++n) {
        waiting[n] = predecessors[n].size();
        for (const size_t predecessor : predecessors[n]) {
            successors[predecessor].push_back(n);
        }
        if (waiting[n] == 0) {
            ready.push(n);
        }
    }
    std::vector<const NodeProto*> order;
    order.reserve(nodes.size());
    while (!ready.empty()) {
        const size_t n = ready.top();
        ready.pop();
        order.push_back(&nodes[n]);
        for (const size_t successor : successors[n]) {
            if (--waiting[successor] == 0) {
                ready.push(successor);
            }
        }
    }
    if (order.size() != nodes.size()) {
        return cycle_error(nodes, predecessors, waiting);
    }
    return order;
}

}  // namespace leat::onnx
