// ForecastOrder: the order in which the forecast of a placement by cost has the steps of a run on
// their queues, for programs to submit them in.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <tuple>
#include <vector>

#include "plan/plan_work.h"

namespace leat {

// Ranks: a step comes after all that it waits for, also on its queue. Plain data.
struct ForecastOrder {
    std::vector<int32_t> rank_of_node;    // by node of the whole graph; that of its part, if any
    std::vector<double> host_ns_of_node;  // by node of the whole graph, where the host runs it
    std::vector<int32_t> domain_of_part;  // by part; of AssumedDevices
    // By value of the graph, domain of the device, and whether it goes there.
    std::map<std::tuple<int32_t, int32_t, bool>, int32_t> rank_of_move;

    // By step; empty: the plan has a step that was not foreseen, as where other shapes are.
    std::vector<int32_t> ranks_of(const PlanWork& work, const GraphData& whole) const;
    // Of a step of the host; nullopt: it was not foreseen.
    std::optional<double> host_ns(const PlanStep& step, const GraphData& whole) const;
};

}  // namespace leat
