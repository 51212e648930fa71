// Equal small constants, and nodes that do the same to the same inputs, become one.
#include <fmt/core.h>

#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "base/hash_index.h"
#include "passes/pass.h"
#include "passes/rewriter.h"

namespace leat {
namespace {

// Larger constants are weights: comparing them costs time and finds nothing.
constexpr int64_t kMaxEqualBytes = 1024;

// Keys are bytes, each part with its length, so that no two different ones are equal.
void append(std::string& key, std::string_view part) {
    const auto size = uint32_t(part.size());
    key.append(reinterpret_cast<const char*>(&size), sizeof(size));
    key += part;
}

template <class T>
void append_number(std::string& key, T number) {
    key.append(reinterpret_cast<const char*>(&number), sizeof(number));
}

// False if the tensor is not worth comparing.
bool append_tensor(std::string& key, const Tensor& tensor) {
    if (tensor.dtype() == DType::kString || tensor.byte_count() > kMaxEqualBytes) {
        return false;
    }
    append_number(key, tensor.dtype());
    append_number(key, tensor.shape().rank());
    for (int64_t extent : tensor.shape()) {
        append_number(key, extent);
    }
    append(key, {reinterpret_cast<const char*>(tensor.bytes()), size_t(tensor.byte_count())});
    return true;
}

struct AttributeKey {
    std::string& key;
    bool operator()(int64_t value) const { return append_number(key, value), true; }
    bool operator()(float value) const { return append_number(key, value), true; }
    bool operator()(const std::string& value) const { return append(key, value), true; }
    bool operator()(const Tensor& value) const { return append_tensor(key, value); }
    bool operator()(const Graph& /*body*/) const { return false; }
    bool operator()(const std::vector<std::string>& list) const {
        append_number(key, list.size());
        for (const std::string& value : list) {
            append(key, value);
        }
        return true;
    }
    template <class T>
    bool operator()(const std::vector<T>& list) const {
        append(key, {reinterpret_cast<const char*>(list.data()), list.size() * sizeof(T)});
        return true;
    }
};

// False if the node is unlike every other one.
bool append_node(std::string& key, const NodeData& node) {
    if (node.dead || node.def == nullptr || node.def->nondeterministic || node.has_bodies() ||
        !node.epilogue.empty()) {
        return false;
    }
    append(key, node.domain);
    append(key, node.op_type);
    append_number(key, node.inputs.size());
    append_number(key, node.outputs.size());
    for (ValueId input : node.inputs) {
        append_number(key, input.index);
    }
    for (const auto& [name, value] : node.attributes) {
        append(key, name);
        append_number(key, value.index());
        if (!std::visit(AttributeKey{key}, value)) {
            return false;
        }
    }
    return true;
}

// Numbers by keys, which are made again where they may be equal: most are not, and would only fill
// memory. append_key(key, number): the same each time.
template <class AppendKey>
class KeyIndex {
  public:
    KeyIndex(size_t count, AppendKey append_key) : append_key_(std::move(append_key)) {
        index_.reserve(count);
    }

    // An earlier number with the same key, or itself. Nothing: it is unlike every other one.
    std::optional<int> first(int number) {
        key_.clear();
        if (!append_key_(key_, number)) {
            return std::nullopt;
        }
        const size_t hash = std::hash<std::string>()(key_);
        const uint32_t found = index_.find(hash, [&](uint32_t candidate) {
            other_.clear();
            return append_key_(other_, int(candidate)) && other_ == key_;
        });
        if (found != HashIndex::kNone) {
            return int(found);
        }
        index_.insert(hash, uint32_t(number));
        return number;
    }

  private:
    AppendKey append_key_;
    HashIndex index_;
    std::string key_;
    std::string other_;
};

int merge_constants(Rewriter& rewriter) {
    GraphData& graph = rewriter.graph();
    KeyIndex seen(0, [&graph](std::string& key, int v) {
        return append_tensor(key, *graph.value({v}).constant);
    });
    int merged = 0;
    for (int v = 0; v < graph.value_count(); ++v) {
        const ValueId id{v};
        if (!graph.value(id).constant || rewriter.is_output(id) || rewriter.is_unused(id)) {
            continue;
        }
        const int first = seen.first(v).value_or(v);
        if (first != v) {
            rewriter.replace_uses(id, {first});
            ++merged;
        }
    }
    return merged;
}

int merge_nodes(Rewriter& rewriter) {
    GraphData& graph = rewriter.graph();
    KeyIndex seen(size_t(graph.node_count()),
                  [&graph](std::string& key, int n) { return append_node(key, graph.node({n})); });
    int merged = 0;
    // In order, so that the readers of a merged result are seen with their new inputs. What a node
    // reads does not change behind it.
    for (int n = 0; n < graph.node_count(); ++n) {
        const NodeId first{seen.first(n).value_or(n)};
        if (first.index == n) {
            continue;
        }
        const std::vector<ValueId>& kept = graph.node(first).outputs;
        const std::vector<ValueId>& dropped = graph.node({n}).outputs;
        bool possible = rewriter.history().may_join(graph.node(first), graph.node({n}));
        for (size_t i = 0; i < kept.size(); ++i) {
            // Two graph outputs stay two values; and a result that is absent cannot stand in.
            possible =
                possible && kept[i].valid() == dropped[i].valid() &&
                !(kept[i].valid() && rewriter.is_output(kept[i]) && rewriter.is_output(dropped[i]));
        }
        if (!possible) {
            continue;
        }
        for (size_t i = 0; i < kept.size(); ++i) {
            if (kept[i].valid()) {
                rewriter.replace_uses(dropped[i], kept[i]);
            }
        }
        rewriter.history().join(graph.node(first), graph.node({n}));
        rewriter.remove({n});
        ++merged;
    }
    return merged;
}

}  // namespace

Result<bool> eliminate_common_subexpressions(GraphData& graph, PassContext& context) {
    Rewriter rewriter(graph, context.history);
    const int constants = merge_constants(rewriter);
    const int nodes = merge_nodes(rewriter);
    if (constants + nodes > 0) {
        context.detail = fmt::format("{} constants, {} nodes", constants, nodes);
    }
    return constants + nodes > 0;
}

}  // namespace leat
