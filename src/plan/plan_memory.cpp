#include "plan/plan_memory.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "base/round_up.h"
#include "plan/kernel_answers.h"
#include "plan/plan_devices.h"
#include "plan/replan_seed.h"
#include "plan/step_program.h"

namespace leat {
namespace {

constexpr int64_t kScratchAlignmentBytes = 64;

Result<std::shared_ptr<const MemoryPlanner>> make_planner(const PlanContext& context,
                                                          MemoryProblem problem) {
    const ReplanSeed& seed = *context.seed;
    if (seed.solved) {
        return MemoryPlanner::restore(std::move(problem), seed.solved->layout);
    }
    return seed.memory.planner == nullptr
               ? std::make_shared<const MemoryPlanner>(std::move(problem))
               : std::make_shared<const MemoryPlanner>(std::move(problem), *seed.memory.planner);
}

double cost_ns_of(const PlanContext& context, const PlanStep& step) {
    if (context.cost_factors.empty() || step.is_transfer) {
        return step.kernel->cost_ns;
    }
    const auto node = size_t(id_of(context.graph, *step.node).index);
    return std::min(step.kernel->cost_ns * context.cost_factors[node], kMostEstimatedNs);
}

Result<LayoutChoice> choose_layout(const PlanContext& context,
                                   const MemoryPlanner& planner,
                                   const DeviceSharing& sharing,
                                   PlanWork& work) {
    const LimitedMemory besides{context.weights.packed_bytes(),
                                work.scratch_bytes * context.workers};
    LayoutWish wish;
    wish.workers = context.workers;
    wish.limit_bytes = arena_limit(context.memory_limit, besides);
    wish.overlaps_devices = work.overlaps_devices;
    const ReplanSeed& seed = *context.seed;
    wish.former = seed.memory.planner == nullptr ? nullptr : &seed.memory;
    start_from_layouts(seed.work.devices, work.devices);
    if (!work.devices.memories.empty()) {
        wish.fits_elsewhere = [&](const StepWaits& waits) {
            return fits_device_memory(waits, sharing, work);
        };
    }
    const LayoutChooser chooser(planner);
    LEAT_ASSIGN_OR_RETURN(LayoutChoice choice,
                          seed.solved ? chooser.restore(*seed.solved) : chooser.choose(wish));
    if (choice.layout.plan.height_bytes > wish.limit_bytes) {
        return limit_error(context.memory_limit, besides, context.graph, work.devices, planner,
                           choice.layout);
    }
    return choice;
}

}  // namespace

Result<std::shared_ptr<const MemoryPlanner>> order_steps(const PlanContext& context,
                                                         MemoryProblem problem,
                                                         PlanWork& work) {
    LEAT_ASSIGN_OR_RETURN(std::shared_ptr<const MemoryPlanner> planner,
                          make_planner(context, std::move(problem)));
    std::vector<PlanStep> ordered;
    ordered.reserve(planner->order().size());
    for (const int32_t index : planner->order()) {
        PlanStep& step = ordered.emplace_back(work.steps[size_t(index)]);
        step.cost_ns = cost_ns_of(context, step);
        work.scratch_bytes = std::max(work.scratch_bytes,
                                      round_up(step.kernel->scratch_bytes, kScratchAlignmentBytes));
    }
    work.steps = std::move(ordered);
    work.overlaps_devices = overlaps_devices(context, work, planner->data_order());
    return planner;
}

Result<PlanMemory> place_memory(const PlanContext& context,
                                std::shared_ptr<const MemoryPlanner> planner,
                                PlanWork& work) {
    const DeviceSharing sharing{context.is_serial, context.memory_limit.requests};
    LEAT_ASSIGN_OR_RETURN(LayoutChoice choice, choose_layout(context, *planner, sharing, work));
    LEAT_RETURN_IF_ERROR(place_device_memory(context.graph, choice.layout, sharing, work));
    return PlanMemory{std::move(planner), std::move(choice.layout), choice.run_ahead};
}

}  // namespace leat
