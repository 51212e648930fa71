// Offsets for buffers, so that those never alive together share memory. Pure integers.
//
// All functions are pure: the same input gives the same output on every machine (every search is
// bounded by its work, not by the clock).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/inline_vector.h"
#include "leat/status.h"
#include "memory/order/step_order.h"

namespace leat {

// Alive in the steps [begin_step, end_step): a buffer written in step 3 and last read in step 5 has
// [3, 6). One of zero bytes, or alive in no step, takes no place.
struct PlannedBuffer {
    int64_t size_bytes = 0;
    int64_t alignment_bytes = 64;  // a power of two
    int32_t begin_step = 0;
    int32_t end_step = 1;
};

// Alive from the first to the last of the steps that use it, whatever order they run in: a may
// share memory with b if a is not kept and every user of a precedes every user of b, or the other
// way round.
struct UsedBuffer {
    int64_t size_bytes = 0;
    int64_t alignment_bytes = 64;  // a power of two
    // Steps that read or write it, ascending; none: takes no place.
    InlineVector<int32_t, 6> users;
    bool is_kept = false;  // alive after the last step, as a graph's output is
};

class Arrangement;
class PlanProblem;

struct MemoryPlan {
    std::vector<int64_t> offsets;   // by buffer
    int64_t height_bytes = 0;       // of the arena: the largest end of a buffer
    int64_t lower_bound_bytes = 0;  // the most alive at once, alignment counted: no plan is below
    std::vector<int32_t> bound_buffers;  // ascending: all alive at once, they make the bound
    int64_t proved_bytes =
        0;  // no plan is below: the bound, or more where an exact search proved it
    int64_t unplanned_bytes = 0;  // the sum of all buffers
    std::string algorithm;        // what found it, for the report
    // What plan_offsets_again takes over; null: nothing.
    std::shared_ptr<const PlanProblem> problem = nullptr;
    // Of that problem, with other sizes too: what searches have found, the last one used first.
    std::vector<std::shared_ptr<const Arrangement>> arrangements = {};

    bool is_optimal() const { return height_bytes == proved_bytes; }
};

// Those of a plan of the same buffers with other sizes, behind the own ones.
void take_arrangements(const MemoryPlan& other, MemoryPlan& plan);

// Best of several greedy orders, then a local search, and an exact one where lifetimes are
// intervals or buffers are few; stops when the height is proved to be the lowest. Error: a negative
// size or lifetime, an alignment that is no power of two, users that are not ascending steps of the
// order, or a sum of more than 2^60 bytes.
Result<MemoryPlan> plan_offsets(std::span<const PlannedBuffer> buffers);
Result<MemoryPlan> plan_offsets(std::span<const UsedBuffer> buffers, const StepOrder& order);
// The same; nothing, without much work, where a bound says that no plan is within `most_bytes`.
Result<std::optional<MemoryPlan>> plan_offsets_up_to(std::span<const UsedBuffer> buffers,
                                                     const StepOrder& order,
                                                     int64_t most_bytes);

// The same for buffers of which there is a plan with other sizes, for example of another batch:
// same users, same order. Takes an arrangement that was found for it, or for plans before it, if
// that is as close to the bound as it was when it was found, or within 2 % (of hundreds of buffers,
// most of which may be alive together, 5 %), or within spare_bytes; else it plans anew.
Result<MemoryPlan> plan_offsets_again(std::span<const UsedBuffer> buffers,
                                      const StepOrder& order,
                                      const MemoryPlan& former,
                                      int64_t spare_bytes = 0);

enum class LimitVerdict : uint8_t {
    kMet,
    kImpossible,  // proved: no plan is within the limit
    kNotFound,    // the search found none
};
struct LimitAnswer {
    LimitVerdict verdict = LimitVerdict::kMet;
    // Of the lowest plan possible (impossible), of the lowest plan found (not found); 0: met.
    int64_t bytes_short = 0;
    // The lowest found. Its bound_buffers are what is alive together where the bound is above the
    // limit; where proved_bytes is above that, an exact search proved the rest.
    MemoryPlan plan;
};
// As plan_offsets, with a longer search where the limit asks for it.
Result<LimitAnswer> plan_within(std::span<const UsedBuffer> buffers,
                                const StepOrder& order,
                                int64_t limit_bytes);

// What a proof knows of the order of users, for plans of other sizes.
struct PlanProof;
// An independent proof: no two buffers that may be alive together overlap, all are aligned and
// inside the height. Shares no code with plan_offsets. The error names the buffers. The order as
// the steps that each step waits for, all of them smaller.
// Where the same steps use the buffers as those of `former` (null: there is none), what it knows is
// taken over, and its sharing alone is checked.
Result<std::shared_ptr<const PlanProof>> prove_plan(
    std::span<const UsedBuffer> buffers,
    const std::shared_ptr<const StepWaits>& predecessors,
    const MemoryPlan& plan,
    const std::shared_ptr<const PlanProof>& former);

}  // namespace leat
