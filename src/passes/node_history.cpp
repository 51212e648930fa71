#include "passes/node_history.h"

#include "base/check.h"

namespace leat {

std::string_view NodeHistory::pin_of(std::string_view node) const {
    const auto found = pins_.find(node);
    return found == pins_.end() ? std::string_view() : std::string_view(found->second);
}

bool NodeHistory::may_join(const NodeData& a, const NodeData& b) const {
    const std::string_view pin_a = pin_of(a.name);
    const std::string_view pin_b = pin_of(b.name);
    return pin_a.empty() || pin_b.empty() || pin_a == pin_b;
}

bool NodeHistory::join(const NodeData& into, std::span<const NodeData* const> from) {
    std::string pin(pin_of(into.name));
    for (const NodeData* node : from) {
        const std::string_view other = pin_of(node->name);
        if (!pin.empty() && !other.empty() && other != pin) {
            return false;
        }
        pin = pin.empty() ? std::string(other) : pin;
    }
    if (!pin.empty()) {
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
               from.label(), pin_of(into.name), pin_of(from.name));
}

void NodeHistory::copy_pin(const NodeData& node, const NodeData& made) {
    if (const std::string pin(pin_of(node.name)); !pin.empty()) {
        pins_.insert_or_assign(made.name, pin);
    }
}

void NodeHistory::remove(const NodeData& node, NodeFate fate) {
    removed_.push_back({node.name, node.op_type, fate, {}});
}

}  // namespace leat
