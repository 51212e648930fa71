#include "plan/plan_work.h"

#include <fmt/core.h>

namespace leat {

std::string PlanWork::name_of(const GraphData& graph, int32_t value) const {
    const int32_t first_own = value_of_own_memory(graph, 0);
    return value < first_own
               ? devices.name_of(graph, value)
               : fmt::format("bodies of {}", own_memories[size_t(value - first_own)].node->label());
}

}  // namespace leat
