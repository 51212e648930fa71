// ReplanSeed: what a plan starts from, so that it need not search for everything again.
#pragma once

#include <optional>

#include "plan/layout_choice.h"
#include "plan/plan_facts.h"
#include "plan/plan_work.h"

namespace leat {

// Every plan is the seed of later plans of its graph, for other shapes: what still holds for these
// is taken over. The seed of a plan that was saved has nothing but `solved`, which is for the same
// shapes. An empty seed starts from nothing.
struct ReplanSeed {
    PlanFacts facts;
    PlanWork work;
    PlanMemory memory;
    // Taken without a search, and not trusted: kParse says where it does not fit.
    std::optional<SolvedChoice> solved;
};

}  // namespace leat
