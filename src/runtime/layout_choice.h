// Which of the layouts that MemoryPlanner can make a plan gets: steps that overlap more need more
// bytes.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "leat/status.h"
#include "memory/memory_planner.h"
#include "runtime/step_tasks.h"

namespace leat {

struct LayoutChoice {
    MemoryLayout layout;
    int32_t tile_window = 0;  // as CompileOptions::tile_window; 0: steps are whole
    RunAhead run_ahead = RunAhead::kUnlimited;  // of whole steps
};

// The choice for the same steps with other sizes.
struct FormerLayout {
    const MemoryPlanner& planner;
    const MemoryLayout& layout;
    RunAhead run_ahead;
};

// A choice in a form that can be kept.
struct SolvedChoice {
    int32_t tile_window = 0;
    int32_t run_ahead = 0;
    int64_t largest_result_bytes = 0;  // as Plan has it
    int32_t copies_ahead = 0;          // the same
    SolvedLayout layout;
};

struct LayoutWish {
    int workers = 1;
    // Steps may run while devices carry out others: worth any bytes within the limit.
    bool overlaps_devices = false;
    int64_t limit_bytes = 0;  // of the arena; may be negative
    int32_t tile_window = 0;  // at most; above 0: steps that were cut into tiles are at hand
    const FormerLayout* former = nullptr;
    // Whether what the layout's waits make of memory elsewhere fits there; empty: it does.
    std::function<Result<bool>(const StepWaits&)> fits_elsewhere = nullptr;
};

class LayoutChooser {
  public:
    // `step_tasks` knows its tile waits; null: windows are never asked for. Both outlive this.
    LayoutChooser(const MemoryPlanner& planner, const StepTasks* step_tasks)
        : planner_(planner), step_tasks_(step_tasks) {}

    // The most parallel layout that is not much larger than that of one worker, and fits the limit;
    // where none fits, the smallest that was found.
    Result<LayoutChoice> choose(const LayoutWish& wish) const;
    // The choice that was made before for the same steps. kParse: it does not fit them.
    Result<LayoutChoice> restore(const SolvedChoice& solved) const;
    // All that there are to choose from, from the most parallel one on.
    Result<std::vector<LayoutChoice>> all() const;

  private:
    EndsBeforeOverwritten ends_before_overwritten() const;
    Result<LayoutChoice> in_window(int32_t window) const;
    Result<LayoutChoice> of_whole_steps(RunAhead run_ahead) const;
    Result<LayoutChoice> of_whole_steps(const LayoutWish& wish) const;

    const MemoryPlanner& planner_;
    const StepTasks* step_tasks_;
};

}  // namespace leat
