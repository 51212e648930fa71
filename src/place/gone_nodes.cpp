#include "place/gone_nodes.h"

#include <map>
#include <set>
#include <string_view>

namespace leat {
namespace {

PlacementReason reason_of(NodeFate fate) {
    switch (fate) {
        case NodeFate::kComputed:
            return PlacementReason::kComputed;
        case NodeFate::kIdentity:
            return PlacementReason::kIdentity;
        case NodeFate::kDivided:
            return PlacementReason::kDivided;
        default:
            return PlacementReason::kJoined;
    }
}

}  // namespace

std::vector<PlacedNode> gone_nodes(const GraphData& before,
                                   const GraphData& after,
                                   const NodeHistory& history) {
    std::set<std::string_view> left;
    for (const NodeData& node : after.nodes) {
        left.insert(node.name);
    }
    std::map<std::string_view, const RemovedNode*> removed;
    for (const RemovedNode& node : history.removed()) {
        removed.try_emplace(node.name, &node);
    }
    std::vector<PlacedNode> gone;
    for (const NodeData& node : before.nodes) {
        if (left.count(node.name) != 0) {
            continue;
        }
        PlacedNode& entry = gone.emplace_back();
        entry.name = node.name;
        entry.op_type = node.op_type;
        const auto found = removed.find(node.name);
        entry.reason =
            found == removed.end() ? PlacementReason::kUnused : reason_of(found->second->fate);
        entry.joined_into = found == removed.end() ? std::string() : found->second->joined_into;
    }
    return gone;
}

}  // namespace leat
