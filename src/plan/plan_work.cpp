#include "plan/plan_work.h"

#include <fmt/core.h>

namespace leat {

std::string PlanWork::name_of(const GraphData& graph, int32_t value) const {
    const int32_t first_own = value_of_own_memory(graph, 0);
    if (value < first_own) {
        return devices.name_of(graph, value);
    }
    const NodeData& node = *own_memories[size_t(value - first_own)].node;
    return fmt::format("{} of {}", node.has_bodies() ? "bodies" : "memory inside", node.label());
}

}  // namespace leat
