#include "onnx/node_order.h"

#include <algorithm>
#include <functional>
#include <numeric>
#include <queue>
#include <span>
#include <unordered_set>
#include <utility>

#include "base/error.h"
#include "base/hash_index.h"

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

// For each node, the nodes whose results it reads, each once.
class Predecessors {
  public:
    explicit Predecessors(const std::vector<NodeProto>& nodes) {
        NameTable<size_t> producer;
        producer.reserve(nodes.size());
        for (size_t n = 0; n < nodes.size(); ++n) {
            for (const std::string_view name : nodes[n].output) {
                if (!name.empty()) {
                    producer.insert(name, n);
                }
            }
        }
        std::vector<size_t> last_reader(nodes.size(), SIZE_MAX);
        first_.reserve(nodes.size() + 1);
        for (size_t n = 0; n < nodes.size(); ++n) {
            first_.push_back(nodes_.size());
            const auto read = [&](std::string_view name) {
                const size_t* const found = producer.find(name);
                if (found != nullptr && std::exchange(last_reader[*found], n) != n) {
                    nodes_.push_back(*found);
                }
            };
            std::for_each(nodes[n].input.begin(), nodes[n].input.end(), read);
            Names free;
            for (const AttributeProto& attribute : nodes[n].attribute) {
                if (attribute.g != nullptr) {
                    collect_free_names(*attribute.g, free);
                }
            }
            std::for_each(free.begin(), free.end(), read);
        }
        first_.push_back(nodes_.size());
    }

    std::span<const size_t> of(size_t node) const {
        return std::span(nodes_).subspan(first_[node], first_[node + 1] - first_[node]);
    }

  private:
    std::vector<size_t> nodes_;  // lists, one after the other
    std::vector<size_t> first_;  // by node, and one more
};

// waiting: predecessors that could not be ordered either, by node.
Status cycle_error(const std::vector<NodeProto>& nodes,
                   const Predecessors& predecessors,
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
        for (const size_t predecessor : predecessors.of(node)) {
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
    const Predecessors predecessors(nodes);
    std::vector<size_t> waiting(nodes.size(), 0);
    std::vector<size_t> first(nodes.size() + 1, 0);  // by node: of its successors
    for (size_t n = 0; n < nodes.size(); ++n) {
        waiting[n] = predecessors.of(n).size();
        for (const size_t predecessor : predecessors.of(n)) {
            ++first[predecessor + 1];
        }
    }
    std::partial_sum(first.begin(), first.end(), first.begin());
    std::vector<size_t> successors(first.back());
    std::vector<size_t> next(first.begin(), first.end() - 1);
    std::priority_queue<size_t, std::vector<size_t>, std::greater<>> ready;
    for (size_t n = 0; n < nodes.size(); ++n) {
        for (const size_t predecessor : predecessors.of(n)) {
            successors[next[predecessor]++] = n;
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
        for (size_t i = first[n]; i < first[n + 1]; ++i) {
            if (--waiting[successors[i]] == 0) {
                ready.push(successors[i]);
            }
        }
    }
    if (order.size() != nodes.size()) {
        return cycle_error(nodes, predecessors, waiting);
    }
    return order;
}

}  // namespace leat::onnx
