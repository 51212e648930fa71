// NodeHistory: where nodes are pinned while passes rewrite them, and what has become of those that
// are gone.
//
// Nodes go by their names, which passes keep; a name that several nodes have means all of them.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
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

// An operand that even shards of a node have ranges of.
struct ShardedOperand {
    bool is_output = false;
    int32_t operand = 0;            // index among the node's inputs or outputs
    int64_t axis = 0;               // negative: from the back
    std::optional<int64_t> extent;  // of the axis, where it is stated

    bool operator==(const ShardedOperand&) const = default;
};

// A node that several devices must run, each an even range of one axis.
struct PinnedShards {
    std::vector<std::string> devices;      // by shard; empty: it runs whole
    std::vector<ShardedOperand> operands;  // the outputs alone, or inputs alone

    bool operator==(const PinnedShards&) const = default;
};

// Where a node must run.
struct Pin {
    std::string device;    // empty: any; of shards that one where their results are added up
    int stage = kNoStage;  // of a pipeline: nodes of different stages are in different parts
    PinnedShards shards = {};

    bool is_pinned() const { return !device.empty() || stage != kNoStage; }
    bool operator==(const Pin&) const = default;
};

class NodeHistory {
  public:
    using Pins = std::map<std::string, Pin, std::less<>>;  // by node

    NodeHistory() = default;
    explicit NodeHistory(Pins pins) : pins_(std::move(pins)) {}

    const Pins& pins() const { return pins_; }
    const Pin& pin_of(std::string_view node) const;
    // False if the two are pinned to different devices, shards or stages.
    bool may_join(const NodeData& a, const NodeData& b) const;

    // `into` does the work of `from`, and must run where one of them is pinned. False, and nothing
    // has changed, if may_join() is false.
    bool join(const NodeData& into, std::span<const NodeData* const> from);
    // Precondition: may_join(into, from).
    void join(const NodeData& into, const NodeData& from);
    // A pass has made `made` to do work of `node`, but not by the same operands: it is not sharded.
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
