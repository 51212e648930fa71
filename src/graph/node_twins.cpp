#include "graph/node_twins.h"

#include <algorithm>
#include <bit>
#include <unordered_map>
#include <variant>

namespace leat {
namespace {

// Nodes of one operator that are compared with a node, the nearest first: more than a layer of a
// transformer has.
constexpr size_t kMostCandidates = 32;

struct SameAttribute {
    template <class T>
    bool operator()(const T& a, const T& b) const {
        return a == b;
    }
    // By their bits: no zero is another's.
    bool operator()(float a, float b) const {
        return std::bit_cast<uint32_t>(a) == std::bit_cast<uint32_t>(b);
    }
    bool operator()(const std::vector<float>& a, const std::vector<float>& b) const {
        return std::equal(a.begin(), a.end(), b.begin(), b.end(), *this);
    }
    bool operator()(const Tensor& /*a*/, const Tensor& /*b*/) const { return false; }
    bool operator()(const Graph& /*a*/, const Graph& /*b*/) const { return false; }
    template <class T, class U>
    bool operator()(const T& /*a*/, const U& /*b*/) const {
        return false;
    }
};

bool same_attributes(const Attributes& a, const Attributes& b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                      [](const auto& one, const auto& other) {
                          return one.first == other.first &&
                                 std::visit(SameAttribute{}, one.second, other.second);
                      });
}

bool same_step(const EpilogueStep& a, const EpilogueStep& b) {
    return a.op == b.op && a.operand_input == b.operand_input &&
           a.result_is_rhs == b.result_is_rhs && same_attributes(a.attributes, b.attributes);
}

bool is_open_dim(const TypeInfo& declared, size_t axis) {
    return declared.dims && axis < declared.dims->size() && !(*declared.dims)[axis].is_fixed();
}

class TwinSearch {
  public:
    TwinSearch(const GraphData& graph, const SharedFacts& facts) : graph_(graph), facts_(facts) {}

    NodeTwins run() {
        NodeTwins twins(graph_.nodes.size(), -1);
        for (size_t n = 0; n < graph_.nodes.size(); ++n) {
            const NodeData& node = graph_.nodes[n];
            if (node.dead || node.def->nondeterministic || node.has_bodies()) {
                continue;
            }
            std::vector<int32_t>& earlier = earlier_[node.def];
            twins[n] = nearest(node, earlier);
            earlier.push_back(int32_t(n));
        }
        return twins;
    }

  private:
    int32_t nearest(const NodeData& node, const std::vector<int32_t>& earlier) const {
        const size_t most = std::min(earlier.size(), kMostCandidates);
        int32_t found = -1;
        for (size_t back = 1; back <= most; ++back) {
            const int32_t candidate = earlier[earlier.size() - back];
            const NodeData& other = graph_.nodes[size_t(candidate)];
            if ((found >= 0 && !same_constants(node, other)) || !are_twins(node, other)) {
                continue;
            }
            found = candidate;
            if (same_constants(node, other)) {
                break;
            }
        }
        return found;
    }

    bool same_constants(const NodeData& a, const NodeData& b) const {
        return std::equal(a.inputs.begin(), a.inputs.end(), b.inputs.begin(), b.inputs.end(),
                          [this](ValueId one, ValueId other) {
                              return one == other || !one.valid() || !graph_.value(one).constant;
                          });
    }

    bool are_twins(const NodeData& a, const NodeData& b) const {
        const auto same_values = [this](const std::vector<ValueId>& ours,
                                        const std::vector<ValueId>& theirs) {
            return std::equal(ours.begin(), ours.end(), theirs.begin(), theirs.end(),
                              [this](ValueId one, ValueId other) {
                                  return one.valid() == other.valid() &&
                                         (!one.valid() || have_same_type(one, other));
                              });
        };
        return a.own_input_count == b.own_input_count && same_values(a.inputs, b.inputs) &&
               same_values(a.outputs, b.outputs) && same_attributes(a.attributes, b.attributes) &&
               std::equal(a.epilogue.begin(), a.epilogue.end(), b.epilogue.begin(),
                          b.epilogue.end(), same_step);
    }

    const TypeInfo& type(ValueId id) const { return facts_[size_t(id.index)]->type; }

    // Extents that the graph leaves open are others in each plan: whether they are equal in this
    // one says nothing.
    bool have_same_type(ValueId one, ValueId other) const {
        const TypeInfo& a = type(one);
        const TypeInfo& b = type(other);
        if (!a.is_tensor() || !b.is_tensor() || a.dtype != b.dtype || !a.dims || !b.dims ||
            a.dims->size() != b.dims->size()) {
            return false;
        }
        for (size_t axis = 0; axis < a.dims->size(); ++axis) {
            const bool are_open = is_open_dim(graph_.value(one).type, axis) &&
                                  is_open_dim(graph_.value(other).type, axis);
            if (!are_open && !same_dim((*a.dims)[axis], (*b.dims)[axis])) {
                return false;
            }
        }
        return true;
    }

    const GraphData& graph_;
    const SharedFacts& facts_;
    std::unordered_map<const OpDef*, std::vector<int32_t>> earlier_;  // ascending
};

}  // namespace

NodeTwins find_node_twins(const GraphData& graph, const SharedFacts& facts) {
    return TwinSearch(graph, facts).run();
}

}  // namespace leat
