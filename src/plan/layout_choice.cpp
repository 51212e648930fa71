#include "plan/layout_choice.h"

#include <algorithm>
#include <optional>
#include <span>
#include <utility>

#include "base/error.h"

namespace leat {
namespace {

// How far steps may run ahead, from the most parallel to the smallest plan.
constexpr RunAhead kRunAheads[] = {RunAhead::kUnlimited, RunAhead{16}, RunAhead{8},
                                   RunAhead{4},          RunAhead{2},  RunAhead::kSerial};
constexpr RunAhead kOneWorker[] = {RunAhead::kOneWorker};

// Bytes of a plan whose steps may overlap, of those that one step after another needs: more is not
// worth it, because steps divide into tiles for all workers anyway.
constexpr double kOverlapBytes = 1.15;

std::span<const RunAhead> run_aheads(const LayoutWish& wish) {
    return wish.workers == 1 && !wish.overlaps_devices ? std::span<const RunAhead>(kOneWorker)
                                                       : std::span<const RunAhead>(kRunAheads);
}

}  // namespace

Result<PlanMemory> LayoutChooser::choose(const LayoutWish& wish) const {
    const int64_t wanted_bytes =
        wish.overlaps_devices
            ? wish.limit_bytes
            : std::min(wish.limit_bytes,
                       int64_t(kOverlapBytes * double(planner_->peak_bytes())) + wish.spare_bytes);
    const auto is_good = [&](const MemoryLayout& layout) -> Result<bool> {
        if (layout.plan.height_bytes > wanted_bytes || !wish.fits_elsewhere) {
            return layout.plan.height_bytes <= wanted_bytes;
        }
        return wish.fits_elsewhere(*layout.waits);
    };
    if (wish.former != nullptr && planner_->has_order_of(*wish.former->planner)) {
        const RunAhead run_ahead = wish.former->run_ahead;
        LEAT_ASSIGN_OR_RETURN(MemoryLayout layout,
                              planner_->lay_out({.run_ahead = run_ahead,
                                                 .former = &wish.former->layout,
                                                 .spare_bytes = wish.spare_bytes}));
        LEAT_ASSIGN_OR_RETURN(const bool is_taken, is_good(layout));
        if (is_taken) {
            return PlanMemory{planner_, std::move(layout), run_ahead};
        }
    }
    PlanMemory choice;
    const std::span<const RunAhead> candidates = run_aheads(wish);
    for (const RunAhead run_ahead : candidates) {
        if (run_ahead == candidates.back()) {
            LEAT_ASSIGN_OR_RETURN(choice, with(run_ahead));
        } else {
            LEAT_ASSIGN_OR_RETURN(
                std::optional<MemoryLayout> layout,
                planner_->lay_out_if_small({.run_ahead = run_ahead, .most_bytes = wanted_bytes}));
            if (!layout) {
                continue;
            }
            choice = PlanMemory{planner_, *std::move(layout), run_ahead};
        }
        LEAT_ASSIGN_OR_RETURN(const bool is_taken, is_good(choice.layout));
        if (is_taken) {
            return choice;
        }
    }
    if (choice.layout.plan.height_bytes <= wanted_bytes) {
        // Memory is short elsewhere, of which the waits of that layout know nothing.
        return with(RunAhead::kOneWorker);
    }
    const MemoryPlan& plan = choice.layout.plan;
    if (plan.height_bytes > wish.limit_bytes && plan.proved_bytes <= wish.limit_bytes) {
        LEAT_ASSIGN_OR_RETURN(choice.layout, planner_->lay_out({.run_ahead = choice.run_ahead,
                                                                .limit_bytes = wish.limit_bytes}));
    }
    return choice;
}

Result<std::vector<PlanMemory>> LayoutChooser::all() const {
    std::vector<PlanMemory> choices;
    choices.reserve(std::size(kRunAheads));
    for (const RunAhead run_ahead : kRunAheads) {
        LEAT_ASSIGN_OR_RETURN(PlanMemory choice, with(run_ahead));
        choices.push_back(std::move(choice));
    }
    return choices;
}

Result<PlanMemory> LayoutChooser::restore(const SolvedChoice& solved) const {
    const RunAhead run_ahead{solved.run_ahead};
    const bool is_known = run_ahead == RunAhead::kOneWorker ||
                          std::count(std::begin(kRunAheads), std::end(kRunAheads), run_ahead) > 0;
    if (!is_known) {
        return parse_error("no plan has run_ahead {}", solved.run_ahead);
    }
    LEAT_ASSIGN_OR_RETURN(MemoryLayout layout,
                          planner_->lay_out({.run_ahead = run_ahead, .solved = &solved.layout}));
    return PlanMemory{planner_, std::move(layout), run_ahead};
}

Result<PlanMemory> LayoutChooser::with(RunAhead run_ahead) const {
    LEAT_ASSIGN_OR_RETURN(MemoryLayout layout, planner_->lay_out({.run_ahead = run_ahead}));
    return PlanMemory{planner_, std::move(layout), run_ahead};
}

}  // namespace leat
