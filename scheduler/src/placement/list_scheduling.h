// List scheduling with insertion, on lanes and on links: tasks in order of a priority, each on the
// lane where a score is least, in the first gap that holds it; its missing inputs travel in the
// first gaps of their links.
#pragma once

#include <cstdint>
#include <vector>

#include "placement/placement_model.h"
#include "placement/placement_sequence.h"

namespace leat::scheduler {

struct ListRule {
    std::vector<double> priority;         // [task], highest first; empty: as they become ready
    std::vector<double> bias_ns;          // [task][domain], added to the finish time; empty: none
    std::vector<int32_t> domain_of_task;  // restricts the lanes; empty: any that can run the task
};

// HEFT: Topcuoglu, Hariri, Wu, IEEE TPDS 13(3), 2002. Mean times over the lanes that can run a task
// and over the ordered pairs of lanes.
ListRule heft_rule(const PlacementModel& model);
// PEFT: Arabnejad, Barbosa, IEEE TPDS 25(3), 2014. The optimistic cost of a lane is that of its
// domain, as lanes of one domain exchange values for nothing; transfers are not averaged.
ListRule peft_rule(const PlacementModel& model);
// Domains are given; the priority is the longest way to the end with their times.
ListRule domain_rule(const PlacementModel& model, std::vector<int32_t> domain_of_task);

// O((uses x domains + tasks x lanes) x log(tasks)) while gaps are found near the end of the lanes.
Sequence list_schedule(const PlacementModel& model, const ListRule& rule);

}  // namespace leat::scheduler
