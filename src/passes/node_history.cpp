#include "passes/node_history.h"

#include "base/check.h"

namespace leat {
namespace {

bool is_of_inputs(const PinnedShards& shards) {
    return !shards.devices.empty() && !shards.operands[0].is_output;
}

// What says nothing of shards may take those of the other one's result; its inputs it has not.
bool may_join_shards(const Pin& a, const Pin& b) {
    if (a.shards == b.shards) {
        return true;
    }
    const bool has_a = !a.shards.devices.empty();
    const bool has_b = !b.shards.devices.empty();
    return !(has_a && has_b) && !is_of_inputs(has_a ? a.shards : b.shards) &&
           (has_a ? b.device : a.device).empty();
}

bool may_join_pins(const Pin& a, const Pin& b) {
    return may_join_shards(a, b) &&
           (a.device.empty() || b.device.empty() || a.device == b.device) &&
           (a.stage == kNoStage || b.stage == kNoStage || a.stage == b.stage);
}

void add_pin(const Pin& other, Pin& pin) {
    pin.device = pin.device.empty() ? other.device : pin.device;
    pin.stage = pin.stage == kNoStage ? other.stage : pin.stage;
    pin.shards = pin.shards.devices.empty() ? other.shards : pin.shards;
}

}  // namespace

const Pin& NodeHistory::pin_of(std::string_view node) const {
    static const Pin kNone;
    const auto found = pins_.find(node);
    return found == pins_.end() ? kNone : found->second;
}

bool NodeHistory::may_join(const NodeData& a, const NodeData& b) const {
    return may_join_pins(pin_of(a.name), pin_of(b.name));
}

bool NodeHistory::join(const NodeData& into, std::span<const NodeData* const> from) {
    Pin pin = pin_of(into.name);
    for (const NodeData* node : from) {
        const Pin& other = pin_of(node->name);
        if (!may_join_pins(pin, other)) {
            return false;
        }
        add_pin(other, pin);
    }
    if (pin.is_pinned()) {
        pins_.insert_or_assign(into.name, pin);
    }
    for (const NodeData* node : from) {
        removed_.push_back({node->name, node->op_type, NodeFate::kJoined, into.name});
    }
    return true;
}

void NodeHistory::join(const NodeData& into, const NodeData& from) {
    const NodeData* const joined = &from;
    LEAT_CHECK(join(into, std::span(&joined, 1)), "{} and {} are pinned to {} and {}", into.label(),
               from.label(), pin_of(into.name).device, pin_of(from.name).device);
}

void NodeHistory::copy_pin(const NodeData& node, const NodeData& made) {
    if (Pin pin = pin_of(node.name); pin.is_pinned()) {
        pin.shards = {};
        pins_.insert_or_assign(made.name, pin);
    }
}

void NodeHistory::remove(const NodeData& node, NodeFate fate) {
    removed_.push_back({node.name, node.op_type, fate, {}});
}

}  // namespace leat
