// Random planning problems, in one line of steps and in several: whatever they are, the checker
// proves the plan, the bound is one, a limit is answered truly, and small problems are planned as
// exhaustive search plans them. Deterministic: a failing problem is named by its number.
//
// LEAT_FUZZ_PLANS in the environment is the number of problems; without it a few seconds of them.
// LEAT_FUZZ_FIRST is the number of the first.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "base/split_mix.h"
#include "memory/offsets/plan.h"
#include "support/exhaustive_planning.h"
#include "support/plan_checks.h"
#include "support/planning_problems.h"

namespace leat {
namespace {

using testing::Conflicts;
using testing::Item;
using testing::PlanningProblem;

constexpr int64_t kProblems = 2'000;

int64_t from_environment(const char* name, int64_t otherwise) {
    const char* text = std::getenv(name);
    return text == nullptr ? otherwise : std::atoll(text);
}

class PlanFuzz {
  public:
    PlanFuzz(PlanningProblem problem, bool is_serial)
        : problem_(std::move(problem)), order_(problem_.predecessors) {
        if (is_serial) {
            problem_.predecessors.assign(problem_.predecessors.size(), {});
            for (int32_t step = 1; step < problem_.steps(); ++step) {
                problem_.predecessors[size_t(step)] = {step - 1};
            }
            order_ = StepOrder::serial(problem_.steps());
        }
        conflicts_ = testing::conflicts_of(problem_);
        items_ = testing::items_of(problem_.buffers);
    }

    void run(bool is_small, SplitMix& random) {
        const Result<MemoryPlan> plan = plan_offsets(problem_.buffers, order_);
        ASSERT_TRUE(plan.ok()) << plan.error().message();
        check(*plan);
        if (is_small) {
            lowest_ = testing::lowest_height(items_, conflicts_);
            EXPECT_EQ(plan->height_bytes, lowest_);
            EXPECT_TRUE(plan->is_optimal());
        }
        const int64_t height = plan->height_bytes;
        const int64_t bound = plan->lower_bound_bytes;
        const int64_t limits[] = {int64_t(random.below(int32_t(height) + 2)), bound - 1, bound,
                                  (bound + height) / 2, height - 1};
        check_limit(limits[random.below(5)], *plan);
        plan_again(*plan, random);
    }

  private:
    void check(const MemoryPlan& plan) const {
        const Status proof = check_plan(problem_.buffers, problem_.predecessors, plan);
        EXPECT_TRUE(proof.ok()) << proof.message();
        EXPECT_LE(plan.lower_bound_bytes, plan.proved_bytes);
        EXPECT_LE(plan.proved_bytes, plan.height_bytes);
        EXPECT_EQ(plan.lower_bound_bytes, needed_by(plan.bound_buffers));
    }

    // What the definition says that these buffers, all alive together, take.
    int64_t needed_by(const std::vector<int32_t>& buffers) const {
        std::vector<Item> items;
        for (size_t i = 0; i < items_.size(); ++i) {
            const bool is_one = std::binary_search(buffers.begin(), buffers.end(), int32_t(i));
            for (size_t j = 0; j < i && is_one; ++j) {
                EXPECT_TRUE(conflicts_[i][j] ||
                            !std::binary_search(buffers.begin(), buffers.end(), int32_t(j)));
            }
            items.push_back({is_one ? items_[i].size_bytes : 0, items_[i].alignment_bytes});
        }
        int64_t grain = std::numeric_limits<int64_t>::max();
        for (const Item& item : items_) {
            grain = item.size_bytes > 0 ? std::min(grain, item.alignment_bytes) : grain;
        }
        int64_t bytes = 0;
        int64_t padding = 0;
        for (const Item& item : items) {
            const int64_t rounded =
                item.size_bytes == 0 ? 0 : (item.size_bytes + grain - 1) / grain * grain;
            bytes += rounded;
            padding = std::max(padding, rounded - item.size_bytes);
        }
        return bytes - padding;
    }

    void check_limit(int64_t limit, const MemoryPlan& plan) const {
        SCOPED_TRACE("limit " + std::to_string(limit));
        const Result<LimitAnswer> answer = plan_within(problem_.buffers, order_, limit);
        ASSERT_TRUE(answer.ok());
        check(answer->plan);
        EXPECT_LE(answer->plan.height_bytes, plan.height_bytes);
        switch (answer->verdict) {
            case LimitVerdict::kMet:
                EXPECT_LE(answer->plan.height_bytes, limit);
                EXPECT_EQ(answer->bytes_short, 0);
                break;
            case LimitVerdict::kImpossible:
                EXPECT_LT(limit, answer->plan.proved_bytes);
                EXPECT_EQ(answer->bytes_short, answer->plan.proved_bytes - limit);
                EXPECT_TRUE(lowest_ < 0 || lowest_ == limit + answer->bytes_short);
                break;
            case LimitVerdict::kNotFound:
                EXPECT_LT(lowest_, 0);  // small problems are decided
                EXPECT_LE(answer->plan.proved_bytes, limit);
                EXPECT_EQ(answer->bytes_short, answer->plan.height_bytes - limit);
                EXPECT_GT(answer->bytes_short, 0);
                break;
        }
        EXPECT_TRUE(limit >= plan.lower_bound_bytes ||
                    answer->verdict == LimitVerdict::kImpossible);
    }

    void plan_again(const MemoryPlan& former, SplitMix& random) {
        const int32_t factor = 1 + random.below(4);
        for (UsedBuffer& buffer : problem_.buffers) {
            buffer.size_bytes = buffer.size_bytes * factor + int64_t{16} * random.below(3);
        }
        items_ = testing::items_of(problem_.buffers);
        conflicts_ = testing::conflicts_of(problem_);
        const Result<MemoryPlan> again = plan_offsets_again(problem_.buffers, order_, former);
        ASSERT_TRUE(again.ok());
        check(*again);
    }

    PlanningProblem problem_;
    StepOrder order_;
    Conflicts conflicts_;
    std::vector<Item> items_;
    int64_t lowest_ = -1;  // not known
};

TEST(PlanFuzz, PlansAndAnswersAreTrue) {
    const int64_t first = from_environment("LEAT_FUZZ_FIRST", 0);
    const int64_t end = first + from_environment("LEAT_FUZZ_PLANS", kProblems);
    for (int64_t number = first; number < end && !HasFailure(); ++number) {
        SCOPED_TRACE("problem " + std::to_string(number));
        SplitMix random{uint64_t(number)};
        const bool is_serial = random.below(2) == 0;
        const bool is_small = random.below(2) == 0;
        const int32_t most = !is_small ? 40 : is_serial ? 12 : 8;
        const int32_t buffers = 1 + random.below(most);
        const int32_t steps = 1 + random.below(2 * most);
        PlanFuzz(testing::random_problem(steps, buffers, random.next()), is_serial)
            .run(is_small, random);
    }
}

}  // namespace
}  // namespace leat
