// The program of a plan: what runs in which order, and on which queue.
#pragma once

#include <vector>

#include "leat/scheduler/program.h"
#include "memory/order/step_order.h"
#include "plan/plan_context.h"
#include "plan/plan_observer.h"
#include "plan/plan_work.h"
#include "plan/step_tasks.h"

namespace leat {

struct PlanProgram {
    scheduler::Program compiled;
    std::vector<StepTask> tasks;          // of the program
    bool is_traced = false;               // runs record what ran where
    RunObserverMaker make_observer = {};  // empty: nobody observes runs
};

// A device carries it out while the host goes on.
bool is_submitted(const PlanStep& step);

// True if some step may run while a device carries out another, as far as data is concerned, which
// `order` is by. Transfers that overlap each other do not count, unless somebody observes the runs.
bool overlaps_devices(const PlanContext& context, const PlanWork& work, const StepOrder& order);

// The steps wait for those that `waits` names, by step. Parts are submitted before what they follow
// on their device has ended, and DeviceUse::follows is set to that; where the context is serial,
// they wait on the host. Steps of one queue are submitted in the order of the forecast, if there is
// one that has all steps and no step waits for a later one, as waits that save memory may have it.
Result<PlanProgram> make_program(const PlanContext& context,
                                 const StepWaits& waits,
                                 PlanWork& work);

}  // namespace leat
