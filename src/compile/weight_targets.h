// Where the constants of a graph go by cost, for NumaOptions::weights == kAuto.
#pragma once

#include <vector>

#include "graph/graph_data.h"
#include "machine/runtime_impl.h"
#include "memory/domains/weight_store.h"

namespace leat {

// By thread group: the constants that do not go to Runtime::Impl::weight_target(). Empty where
// placement has no choice: threads of one node, or an order of the user's.
std::vector<WeightTargets> choose_weight_targets(const Runtime::Impl& runtime,
                                                 const GraphData& graph);

}  // namespace leat
