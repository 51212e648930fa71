// Serial placement: the domain of every task so that the sum of all task and transfer times is
// least, as a minimum cut.
#pragma once

#include <cstdint>
#include <vector>

#include "placement/placement_model.h"

namespace leat::scheduler {

// The domain of every task. Exact for two domains (Stone, IEEE TSE 3(1), 1977, with one auxiliary
// node for a value that several tasks read: its transfer is paid once). With more domains: every
// pair of them exchanges tasks by such a cut, all others fixed, twice over all pairs, from the
// cheapest domain of each task. Memory O(tasks + uses); time that of Dinic's maximum flow.
std::vector<int32_t> min_cut_domains(const PlacementModel& model);

}  // namespace leat::scheduler
