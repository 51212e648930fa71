#include "exact_placement.h"

#include <limits>
#include <utility>

#include "base/check.h"
#include "placement/exact_search.h"

namespace leat::scheduler {

Schedule exact_schedule(const PlacementProblem& problem, const Schedule& known) {
    ExactSearchResult result = search_exactly(problem, known, std::numeric_limits<int64_t>::max());
    LEAT_CHECK(result.is_optimal, "{} tasks", problem.task_count);
    return std::move(result.schedule);
}

}  // namespace leat::scheduler
