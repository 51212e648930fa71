// Plans under a partial order of steps.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "base/split_mix.h"
#include "memory/offsets/plan.h"
#include "memory/order/step_order.h"
#include "support/exhaustive_planning.h"
#include "support/plan_checks.h"
#include "support/planning_problems.h"

namespace leat {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::PlanningProblem;

using Steps = std::vector<std::vector<int32_t>>;
using Buffers = std::vector<UsedBuffer>;

//        0
//      /   .
//     1     2
//      .   /
//        3
const Steps kDiamond = {{}, {0}, {0}, {1, 2}};

MemoryPlan plan_checked(const Buffers& buffers, const Steps& steps) {
    Result<MemoryPlan> plan = plan_offsets(buffers, StepOrder(steps));
    EXPECT_TRUE(plan.ok()) << plan.error().message();
    const Status proof = check_plan(buffers, steps, *plan);
    EXPECT_TRUE(proof.ok()) << proof.message();
    return std::move(plan).value();
}

TEST(StepOrder, OrdersBranchesWithTheirEndsOnly) {
    const StepOrder order(kDiamond);
    EXPECT_EQ(order.step_count(), 4);
    EXPECT_FALSE(order.is_serial());
    EXPECT_TRUE(order.precedes(0, 3));
    EXPECT_TRUE(order.precedes(1, 3));
    EXPECT_FALSE(order.precedes(1, 2));
    EXPECT_FALSE(order.precedes(2, 1));
    EXPECT_FALSE(order.precedes(3, 0));
    EXPECT_FALSE(order.precedes(1, 1));
}

TEST(StepOrder, KnowsALine) {
    EXPECT_TRUE(StepOrder(Steps{{}, {0}, {0, 1}}).is_serial());
    EXPECT_TRUE(StepOrder(Steps{}).is_serial());
    const StepOrder line = StepOrder::serial(3);
    EXPECT_EQ(line.step_count(), 3);
    EXPECT_TRUE(line.precedes(0, 2));
    EXPECT_FALSE(line.precedes(2, 2));
    EXPECT_FALSE(line.precedes(2, 0));
}

TEST(StepOrder, AgreesWithStepwiseReachability) {
    for (const int32_t steps : {1, 63, 64, 65, 130}) {
        const PlanningProblem problem = testing::random_problem(steps, 0, uint64_t(steps));
        const auto reaches = testing::reachability(problem.predecessors);
        const StepOrder order(problem.predecessors);
        for (int32_t a = 0; a < steps; ++a) {
            for (int32_t b = 0; b < steps; ++b) {
                ASSERT_EQ(order.precedes(a, b), reaches[size_t(a)][size_t(b)]) << a << ' ' << b;
            }
        }
    }
}

TEST(PlanUnderOrder, BranchesDoNotShare) {
    // One buffer inside each branch: in the order of numbers they could share.
    const Buffers buffers = {{100, 64, {1}}, {100, 64, {2}}};
    const MemoryPlan plan = plan_checked(buffers, kDiamond);
    EXPECT_EQ(plan.height_bytes, 228);
    EXPECT_EQ(plan.lower_bound_bytes, 228);
    EXPECT_THAT(plan.bound_buffers, ElementsAre(0, 1));
    EXPECT_EQ(plan_offsets(buffers, StepOrder::serial(4))->height_bytes, 100);
}

TEST(PlanUnderOrder, WhatEndsBeforeTheJoinIsSharedAfterIt) {
    const Buffers buffers = {{100, 64, {0, 1}}, {200, 64, {2}}, {300, 64, {3}, true}};
    EXPECT_EQ(plan_checked(buffers, kDiamond).height_bytes, 328);
}

TEST(PlanUnderOrder, KeptBuffersShareWithEarlierOnesOnly) {
    const Buffers kept_first = {{100, 64, {0}, true}, {100, 64, {3}}};
    EXPECT_EQ(plan_checked(kept_first, kDiamond).height_bytes, 228);
    const Buffers kept_last = {{100, 64, {0}}, {100, 64, {3}, true}};
    EXPECT_EQ(plan_checked(kept_last, kDiamond).height_bytes, 100);
}

TEST(PlanUnderOrder, UnusedAndEmptyBuffersTakeNoPlace) {
    const Buffers buffers = {{100, 64, {}}, {0, 64, {1}}, {64, 64, {2}}, {50, 64, {}, true}};
    EXPECT_EQ(plan_checked(buffers, kDiamond).height_bytes, 64);
    EXPECT_EQ(plan_checked({}, kDiamond).height_bytes, 0);
}

TEST(PlanUnderOrder, FindsABoundThatTheOrderOfNumbersHides) {
    // Two branches of two steps; the first of the one and the last of the other are never alive
    // together in the order of numbers.
    const Steps steps = {{}, {0}, {}, {2}};
    const Buffers buffers = {{100, 1, {0}}, {10, 1, {1}}, {10, 1, {2}}, {100, 1, {3}}};
    const MemoryPlan plan = plan_checked(buffers, steps);
    EXPECT_EQ(plan.lower_bound_bytes, 200);
    EXPECT_EQ(plan.height_bytes, 200);
    EXPECT_THAT(plan.bound_buffers, ElementsAre(0, 3));
}

TEST(PlanUnderOrder, BoundIsTheHeaviestSetAliveTogether) {
    for (uint64_t seed = 0; seed < 400; ++seed) {
        SCOPED_TRACE(seed);
        const PlanningProblem problem = testing::random_problem(4 + int32_t(seed % 13), 10, seed);
        const MemoryPlan plan = plan_checked(problem.buffers, problem.predecessors);
        const auto conflicts = testing::conflicts_of(problem);
        const int64_t most = testing::most_alive(testing::items_of(problem.buffers), conflicts);
        // A plan that meets a weaker bound is as good as proved.
        EXPECT_LE(plan.lower_bound_bytes, most);
        EXPECT_TRUE(plan.lower_bound_bytes == most || plan.is_optimal());
        for (const int32_t a : plan.bound_buffers) {
            for (const int32_t b : plan.bound_buffers) {
                EXPECT_TRUE(a == b || conflicts[size_t(a)][size_t(b)]);
            }
        }
    }
}

TEST(PlanUnderOrder, RejectsSenselessUsers) {
    const StepOrder order(kDiamond);
    EXPECT_FALSE(plan_offsets(Buffers{{1, 64, {0, 4}}}, order).ok());
    EXPECT_FALSE(plan_offsets(Buffers{{1, 64, {-1}}}, order).ok());
    EXPECT_FALSE(plan_offsets(Buffers{{1, 64, {1, 1}}}, order).ok());
    EXPECT_FALSE(plan_offsets(Buffers{{1, 64, {2, 1}}}, order).ok());
    EXPECT_FALSE(plan_offsets(Buffers{{-1, 64, {1}}}, order).ok());
    EXPECT_FALSE(plan_offsets(Buffers{{1, 63, {1}}}, order).ok());
}

TEST(CheckPlanUnderOrder, FindsEveryKindOfMistake) {
    const Buffers buffers = {{100, 64, {0, 1}}, {100, 64, {2}}, {100, 64, {3}}};
    MemoryPlan plan;
    plan.offsets = {0, 128, 0};
    plan.height_bytes = 228;
    EXPECT_TRUE(check_plan(buffers, kDiamond, plan).ok());

    MemoryPlan overlapping = plan;
    overlapping.offsets[1] = 64;
    const std::string message = check_plan(buffers, kDiamond, overlapping).message();
    EXPECT_THAT(message, HasSubstr("buffers 0 at [0, 100) and 1 at [64, 164)"));
    EXPECT_THAT(message, HasSubstr("step 1, which uses the one, need not end before step 2"));
    MemoryPlan misaligned = plan;
    misaligned.offsets[1] = 120;
    EXPECT_THAT(check_plan(buffers, kDiamond, misaligned).message(), HasSubstr("alignment"));
    MemoryPlan outside = plan;
    outside.height_bytes = 227;
    EXPECT_THAT(check_plan(buffers, kDiamond, outside).message(), HasSubstr("outside the height"));
    MemoryPlan missing = plan;
    missing.offsets.pop_back();
    EXPECT_FALSE(check_plan(buffers, kDiamond, missing).ok());
    Buffers misused = buffers;
    misused[2].users = {4};
    EXPECT_FALSE(check_plan(misused, kDiamond, plan).ok());
    misused[2].users = {3, 2};
    EXPECT_FALSE(check_plan(misused, kDiamond, plan).ok());
    Buffers kept = buffers;
    kept[0].is_kept = true;
    EXPECT_THAT(check_plan(kept, kDiamond, plan).message(),
                HasSubstr("buffer 0 at [0, 100) is kept"));
}

TEST(ProvePlan, TakesOverTheOrderOfUsersAndChecksTheRest) {
    const auto waits = std::make_shared<const StepWaits>(kDiamond);
    Buffers buffers = {{100, 64, {0, 1}}, {100, 64, {2}}, {100, 64, {3}}};
    MemoryPlan plan;
    plan.offsets = {0, 128, 0};
    plan.height_bytes = 228;
    const auto proof = *prove_plan(buffers, waits, plan, nullptr);
    ASSERT_NE(proof, nullptr);

    Buffers larger = buffers;
    MemoryPlan moved = plan;
    for (UsedBuffer& buffer : larger) {
        buffer.size_bytes = 150;
    }
    moved.offsets = {0, 192, 0};
    moved.height_bytes = 342;
    EXPECT_EQ(*prove_plan(larger, waits, moved, proof), proof);
    MemoryPlan turned = moved;
    turned.offsets = {192, 0, 192};
    EXPECT_EQ(*prove_plan(larger, waits, turned, proof), proof);
    moved.offsets[1] = 128;
    EXPECT_THAT(prove_plan(larger, waits, moved, proof).error().message(),
                HasSubstr("need not end before step 2"));
    moved.offsets[1] = 192;
    moved.height_bytes = 341;
    EXPECT_THAT(prove_plan(larger, waits, moved, proof).error().message(),
                HasSubstr("outside the height"));

    Buffers kept = buffers;
    kept[0].is_kept = true;
    EXPECT_FALSE(prove_plan(kept, waits, plan, proof).ok());
    Buffers used = buffers;
    used[0].users = {0, 3};
    EXPECT_FALSE(prove_plan(used, waits, plan, proof).ok());
    const auto none = std::make_shared<const StepWaits>(kDiamond.size());
    EXPECT_FALSE(prove_plan(buffers, none, plan, proof).ok());
}

TEST(CheckPlanUnderOrder, AgreesWithAllPairs) {
    for (uint64_t seed = 0; seed < 400; ++seed) {
        const PlanningProblem problem = testing::random_problem(9, 8, seed);
        const auto conflicts = testing::conflicts_of(problem);
        SplitMix random(seed);
        MemoryPlan plan;
        plan.height_bytes = int64_t{1} << 40;
        for (size_t i = 0; i < problem.buffers.size(); ++i) {
            plan.offsets.push_back(int64_t(random.below(12)) * 1024);
        }
        bool is_valid = true;
        for (size_t a = 0; a < problem.buffers.size(); ++a) {
            for (size_t b = 0; b < a; ++b) {
                is_valid &= !conflicts[a][b] ||
                            plan.offsets[a] + problem.buffers[a].size_bytes <= plan.offsets[b] ||
                            plan.offsets[b] + problem.buffers[b].size_bytes <= plan.offsets[a];
            }
        }
        EXPECT_EQ(check_plan(problem.buffers, problem.predecessors, plan).ok(), is_valid) << seed;
    }
}

}  // namespace
}  // namespace leat
