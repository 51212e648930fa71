// NodeHistory: where nodes are pinned while passes rewrite them, and what has become of those that
// are gone.
//
// Nodes go by their names, which passes keep; a name that several nodes have means all of them.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "graph/graph_data.h"

namespace leat {

// How a pass makes a node superfluous.
enum class NodeFate : uint8_t {
    kComputed,  // its results are constants now
    kIdentity,  // it gives its input back
    kJoined,    // another node does its work
    kDivided,   // several nodes do its work
};

struct RemovedNode {
    std::string name;
    std::string op_type;
    NodeFate fate = NodeFate::kComputed;
    std::string joined_into;  // kJoined: the other node
};

constexpr int kNoStage = -1;

// Where a node must run.
struct Pin {
    std::string device;    // empty: any
    int stage = kNoStage;  // of a pipeline: nodes of different stages are in different parts

    bool is_pinned() const { return !device.empty() || stage != kNoStage; }
};

class NodeHistory {
  public:
    using Pins = std::map<std::string, Pin, std::less<>>;  // by node

    NodeHistory() = default;
    explicit NodeHistory(Pins pins) : pins_(std::move(pins)) {}

    const Pins& pins() const { return pins_; }
    const Pin& pin_of(std::string_view node) const;
    // False if the two are pinned to different devices or stages.
    bool may_join(const NodeData& a, const NodeData& b) const;

    // `into` does the work of `from`, and must run where one of them is pinned. False, and nothing
    // has changed, if they are pinned to different devices or stages.
    bool join(const NodeData& into, std::span<const NodeData* const> from);
    // Precondition: may_join(into, from).
    void join(const NodeData& into, const NodeData& from);
    // A pass has made `made` to do work of `node`.
    void copy_pin(const NodeData& node, const NodeData& made);
    // The node has another fate than kJoined.
    void remove(const NodeData& node, NodeFate fate);

    // In the order of their removal. One that was joined may still be there for other readers.
    std::span<const RemovedNode> removed() const { return removed_; }

  private:
    Pins pins_;
    std::vector<RemovedNode> removed_;
};

}  // namespace leat
