#include "memory/plan.h"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <utility>

#include "base/error.h"
#include "memory/plan_bound.h"
#include "memory/plan_problem.h"
#include "memory/plan_search.h"

namespace leat {
namespace {

// Offsets are below the padded sum of sizes; sums and flows of a few of these must not overflow.
constexpr int64_t kMostBytes = int64_t{1} << 60;

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

void set_bound(const PlanProblem& problem, const PlanBound& bound, MemoryPlan& plan) {
    plan.lower_bound_bytes = bound.bytes;
    plan.proved_bytes = bound.bytes;
    plan.bound_buffers.clear();
    for (const int32_t item : bound.items) {
        plan.bound_buffers.push_back(problem.item(item).index);
    }
    std::sort(plan.bound_buffers.begin(), plan.bound_buffers.end());
}

MemoryPlan solve(const PlanProblem& problem, size_t buffers) {
    MemoryPlan plan;
    plan.offsets.resize(buffers, 0);
    if (problem.size() == 0) {
        plan.algorithm = "nothing to place";
        return plan;
    }
    set_bound(problem, peak_bound(problem), plan);
    PlanSearch search(problem);
    search.try_greedy_orders(plan.lower_bound_bytes);
    if (search.height_bytes() > plan.lower_bound_bytes && !problem.is_interval()) {
        set_bound(problem, antichain_bound(problem), plan);
    }
    search.improve(plan.lower_bound_bytes);
    plan.height_bytes = search.height_bytes();
    plan.algorithm = search.algorithm();
    for (int32_t item = 0; item < problem.size(); ++item) {
        plan.offsets[size_t(problem.item(item).index)] = search.offsets()[size_t(item)];
    }
    return plan;
}

}  // namespace

Result<MemoryPlan> plan_offsets(std::span<const PlannedBuffer> buffers) {
    LEAT_RETURN_IF_ERROR(check_input(buffers));
    MemoryPlan plan = solve(PlanProblem(buffers), buffers.size());
    plan.unplanned_bytes = sum_of_sizes(buffers);
    return plan;
}

Result<MemoryPlan> plan_offsets(std::span<const UsedBuffer> buffers, const StepOrder& order) {
    LEAT_RETURN_IF_ERROR(check_input(buffers, order.step_count()));
    MemoryPlan plan = solve(PlanProblem(buffers, order), buffers.size());
    plan.unplanned_bytes = sum_of_sizes(buffers);
    return plan;
}

}  // namespace leat
