#include "memory/offsets/plan.h"

#include <algorithm>
#include <cstddef>

#include "base/error.h"
#include "memory/offsets/plan_bound.h"
#include "memory/offsets/plan_problem.h"
#include "memory/offsets/plan_solver.h"

namespace leat {
namespace {

// Offsets are below the padded sum of sizes; sums and flows of a few of these must not overflow.
constexpr int64_t kMostBytes = int64_t{1} << 60;
// About three milliseconds for 500 buffers, of which 30 are alive at a time, where nothing is found
// sooner; networks take less than one. Branches that overlap need a longer local search, as there
// is no exact one: all but one of 600 generated networks then come down to the bound.
constexpr PlanSolver::Budget kIntervalBudget = {.local_work = 300'000, .exact_work = 1'000'000};
constexpr PlanSolver::Budget kGeneralBudget = {.local_work = 800'000, .exact_work = 1'000'000};
// A limit is worth tens of milliseconds.
constexpr PlanSolver::Budget kLimitBudget = {.local_work = 4'000'000, .exact_work = 100'000'000};

// Adds to the padded sum of all buffers.
Status check_size(size_t index, int64_t size_bytes, int64_t alignment_bytes, int64_t& padded) {
    if (size_bytes < 0 || alignment_bytes <= 0 || (alignment_bytes & (alignment_bytes - 1)) != 0) {
        return invalid_argument("buffer {} has {} bytes and alignment {}", index, size_bytes,
                                alignment_bytes);
    }
    if (__builtin_add_overflow(padded, size_bytes, &padded) ||
        __builtin_add_overflow(padded, alignment_bytes, &padded) || padded > kMostBytes) {
        return out_of_memory("the buffers of the plan are more than {} bytes", kMostBytes);
    }
    return {};
}

Status check_input(std::span<const PlannedBuffer> buffers) {
    int64_t padded = 0;
    for (size_t i = 0; i < buffers.size(); ++i) {
        LEAT_RETURN_IF_ERROR(
            check_size(i, buffers[i].size_bytes, buffers[i].alignment_bytes, padded));
        if (buffers[i].end_step <= buffers[i].begin_step) {
            return invalid_argument("buffer {} has the steps [{}, {})", i, buffers[i].begin_step,
                                    buffers[i].end_step);
        }
    }
    return {};
}

Status check_input(std::span<const UsedBuffer> buffers, int32_t steps) {
    int64_t padded = 0;
    for (size_t i = 0; i < buffers.size(); ++i) {
        LEAT_RETURN_IF_ERROR(
            check_size(i, buffers[i].size_bytes, buffers[i].alignment_bytes, padded));
        int32_t last = -1;
        for (const int32_t user : buffers[i].users) {
            if (user <= last || user >= steps) {
                return invalid_argument(
                    "buffer {} is used by step {} after step {}; needed are ascending steps below "
                    "{}",
                    i, user, last, steps);
            }
            last = user;
        }
    }
    return {};
}

template <class Buffer>
int64_t sum_of_sizes(std::span<const Buffer> buffers) {
    int64_t bytes = 0;
    for (const Buffer& buffer : buffers) {
        bytes += buffer.size_bytes;
    }
    return bytes;
}

template <class Buffer>
MemoryPlan finish(const PlanSolver& solver, std::span<const Buffer> buffers) {
    MemoryPlan plan = solver.plan(buffers.size());
    plan.unplanned_bytes = sum_of_sizes(buffers);
    return plan;
}

// Of which plans for other sizes may be made.
MemoryPlan finish(const PlanSolver& solver,
                  std::shared_ptr<const PlanProblem> problem,
                  std::span<const UsedBuffer> buffers) {
    MemoryPlan plan = finish(solver, buffers);
    plan.problem = std::move(problem);
    plan.arrangements = solver.arrangements();
    return plan;
}

const PlanSolver::Budget& budget_of(const PlanProblem& problem) {
    return problem.is_interval() ? kIntervalBudget : kGeneralBudget;
}

MemoryPlan solve(const PlanProblem& problem, std::span<const PlannedBuffer> buffers) {
    PlanSolver solver(problem);
    solver.start();
    solver.search(budget_of(problem), 0);
    return finish(solver, buffers);
}

MemoryPlan solve(std::shared_ptr<const PlanProblem> problem, std::span<const UsedBuffer> buffers) {
    PlanSolver solver(*problem);
    solver.plan_anew(budget_of(*problem));
    return finish(solver, std::move(problem), buffers);
}

}  // namespace

void take_arrangements(const MemoryPlan& other, MemoryPlan& plan) {
    if (plan.problem == nullptr || other.problem == nullptr ||
        !plan.problem->has_conflicts_of(*other.problem)) {
        return;
    }
    const auto own_count = ptrdiff_t(plan.arrangements.size());
    for (const std::shared_ptr<const Arrangement>& arrangement : other.arrangements) {
        const auto end = plan.arrangements.begin() + own_count;
        if (std::find(plan.arrangements.begin(), end, arrangement) == end) {
            plan.arrangements.push_back(arrangement);
        }
    }
}

Result<MemoryPlan> plan_offsets(std::span<const PlannedBuffer> buffers) {
    LEAT_RETURN_IF_ERROR(check_input(buffers));
    return solve(PlanProblem(buffers), buffers);
}

Result<MemoryPlan> plan_offsets(std::span<const UsedBuffer> buffers, const StepOrder& order) {
    LEAT_RETURN_IF_ERROR(check_input(buffers, order.step_count()));
    return solve(std::make_shared<const PlanProblem>(buffers, order), buffers);
}

Result<std::optional<MemoryPlan>> plan_offsets_up_to(std::span<const UsedBuffer> buffers,
                                                     const StepOrder& order,
                                                     int64_t most_bytes) {
    LEAT_RETURN_IF_ERROR(check_input(buffers, order.step_count()));
    auto problem = std::make_shared<PlanProblem>(buffers, order, PlanProblem::WithoutConflicts());
    if (peak_bound(*problem).bytes > most_bytes) {
        return std::optional<MemoryPlan>();
    }
    problem->add_conflicts();
    return std::optional<MemoryPlan>(
        solve(std::shared_ptr<const PlanProblem>(std::move(problem)), buffers));
}

Result<MemoryPlan> plan_offsets_again(std::span<const UsedBuffer> buffers,
                                      const StepOrder& order,
                                      const MemoryPlan& former,
                                      int64_t spare_bytes) {
    LEAT_RETURN_IF_ERROR(check_input(buffers, order.step_count()));
    if (former.offsets.size() != buffers.size()) {
        return invalid_argument("the former plan is of {} buffers, not of {}",
                                former.offsets.size(), buffers.size());
    }
    std::shared_ptr<const PlanProblem> problem =
        former.problem == nullptr ? nullptr : former.problem->with_sizes(buffers, order);
    if (problem == nullptr) {
        problem = std::make_shared<const PlanProblem>(buffers, order, former.problem.get());
    }
    PlanSolver solver(*problem);
    if (!solver.start_from(former, spare_bytes)) {
        solver.plan_anew(budget_of(*problem));
    }
    return finish(solver, std::move(problem), buffers);
}

Result<LimitAnswer> plan_within(std::span<const UsedBuffer> buffers,
                                const StepOrder& order,
                                int64_t limit_bytes) {
    LEAT_RETURN_IF_ERROR(check_input(buffers, order.step_count()));
    auto problem = std::make_shared<const PlanProblem>(buffers, order);
    PlanSolver solver(*problem);
    solver.start();
    // The plan without a limit, if it is within.
    solver.search(budget_of(*problem), 0);
    if (solver.height_bytes() > limit_bytes && limit_bytes >= solver.proved_bytes()) {
        solver.pack(limit_bytes);
        solver.search(kLimitBudget, limit_bytes);
    }
    solver.keep_arrangement();
    LimitAnswer answer{.plan = finish(solver, std::move(problem), buffers)};
    if (limit_bytes < answer.plan.proved_bytes) {
        answer.verdict = LimitVerdict::kImpossible;
        answer.bytes_short = answer.plan.proved_bytes - limit_bytes;
    } else if (limit_bytes < answer.plan.height_bytes) {
        answer.verdict = LimitVerdict::kNotFound;
        answer.bytes_short = answer.plan.height_bytes - limit_bytes;
    }
    return answer;
}

}  // namespace leat
