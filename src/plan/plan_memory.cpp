#include "plan/plan_memory.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "base/round_up.h"
#include "plan/devices/plan_devices.h"
#include "plan/kernel_answers.h"
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
    const auto node = size_t(id_of(context.graph(), *step.node).index);
    return std::min(step.kernel->cost_ns * context.cost_factors[node], kMostEstimatedNs);
}

void place_own_memories(const GraphData& graph, const MemoryLayout& layout, PlanWork& work) {
    for (int32_t i = 0; size_t(i) < work.own_memories.size(); ++i) {
        const ValuePlace& place = layout.places[size_t(work.value_of_own_memory(graph, i))];
        work.own_memories[size_t(i)].arena_offset =
            layout.plan.offsets[size_t(place.buffer)] + place.offset_bytes;
    }
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
    // Who drives a body waits for each step that a device carries out.
    work.overlaps_devices =
        !context.is_body && overlaps_devices(context, work, planner->data_order());
    return planner;
}

Result<PlanMemory> place_memory(const PlanContext& context,
                                std::shared_ptr<const MemoryPlanner> planner,
                                PlanWork& work) {
    const ReplanSeed& seed = *context.seed;
    start_from_layouts(seed.work.devices, work.devices);
    const LimitedMemory besides{context.weights.packed_bytes(),
                                work.scratch_bytes * context.workers};
    LayoutWish wish;
    wish.workers = context.workers;
    // The graph around has the limit, and cannot make a body's arena smaller.
    const bool takes_least =
        context.is_body && (context.memory_limit.total_bytes > 0 || !work.devices.memories.empty());
    wish.limit_bytes = takes_least ? 0 : arena_limit(context.memory_limit, besides);
    wish.overlaps_devices = work.overlaps_devices;
    wish.spare_bytes = context.spare_arena_bytes;
    wish.former = seed.memory.planner == nullptr ? nullptr : &seed.memory;
    if (!work.devices.memories.empty()) {
        wish.fits_elsewhere = [&](const StepWaits& waits) {
            return fits_device_memory(context, waits, work);
        };
    }
    const LayoutChooser chooser(std::move(planner));
    LEAT_ASSIGN_OR_RETURN(PlanMemory memory,
                          seed.solved ? chooser.restore(*seed.solved) : chooser.choose(wish));
    if (!takes_least && memory.layout.plan.height_bytes > wish.limit_bytes) {
        return limit_error(context.memory_limit, besides, context.graph(), work, *memory.planner,
                           memory.layout);
    }
    LEAT_RETURN_IF_ERROR(place_device_memory(context, memory.layout, work));
    place_own_memories(context.graph(), memory.layout, work);
    return memory;
}

}  // namespace leat
