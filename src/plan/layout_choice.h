// Which of the layouts that MemoryPlanner can make a plan gets: steps that overlap more need more
// bytes.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "leat/status.h"
#include "memory/memory_planner.h"

namespace leat {

// The memory of a plan: one of the layouts, and the planner that made it.
struct PlanMemory {
    std::shared_ptr<const MemoryPlanner> planner;
    MemoryLayout layout;
    RunAhead run_ahead = RunAhead::kUnlimited;
};

// A choice in a form that can be kept.
struct SolvedChoice {
    int32_t run_ahead = 0;
    int64_t largest_result_bytes = 0;  // as PlanWork has it
    int32_t copies_ahead = 0;          // the same
    SolvedLayout layout;
};

struct LayoutWish {
    int workers = 1;
    // Steps may run while devices carry out others: worth any bytes within the limit.
    bool overlaps_devices = false;
    int64_t limit_bytes = 0;             // of the arena; may be negative
    const PlanMemory* former = nullptr;  // of an earlier plan with other sizes; null: there is none
    // Of an arena that is so much higher than the former plan's arrangement allows, no search makes
    // a lower one.
    int64_t spare_bytes = 0;
    // Whether what the layout's waits make of memory elsewhere fits there; empty: it does.
    std::function<Result<bool>(const StepWaits&)> fits_elsewhere = nullptr;
};

class LayoutChooser {
  public:
    explicit LayoutChooser(std::shared_ptr<const MemoryPlanner> planner)
        : planner_(std::move(planner)) {}

    // The most parallel layout that is not much larger than that of one worker, and fits the limit;
    // where none fits, the smallest that was found.
    Result<PlanMemory> choose(const LayoutWish& wish) const;
    // The choice that was made before for the same steps. kParse: it does not fit them.
    Result<PlanMemory> restore(const SolvedChoice& solved) const;
    // All that there are to choose from, from the most parallel one on.
    Result<std::vector<PlanMemory>> all() const;

  private:
    Result<PlanMemory> with(RunAhead run_ahead) const;

    const std::shared_ptr<const MemoryPlanner> planner_;
};

}  // namespace leat
