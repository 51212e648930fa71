// How good plans are: at the bound on what networks look like, never above the rules of other
// runtimes, equal to exhaustive search where that is possible; limits and plans made again.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/round_up.h"
#include "base/split_mix.h"
#include "memory/offsets/arrangement.h"
#include "memory/offsets/plan.h"
#include "memory/offsets/plan_bound.h"
#include "memory/offsets/plan_orders.h"
#include "memory/offsets/plan_placer.h"
#include "memory/offsets/plan_problem.h"
#include "support/exhaustive_planning.h"
#include "support/peer_planners.h"
#include "support/plan_checks.h"
#include "support/planning_problems.h"

namespace leat {
namespace {

using ::testing::ElementsAre;
using testing::kNetworkKinds;
using testing::kPeerPlanners;
using testing::name_of;
using testing::network_problem;
using testing::NetworkKind;
using testing::PlanningProblem;
using testing::random_problem;

MemoryPlan plan_checked(const PlanningProblem& problem) {
    Result<MemoryPlan> plan = plan_offsets(problem.buffers, StepOrder(problem.predecessors));
    EXPECT_TRUE(plan.ok()) << plan.error().message();
    const Status proof = check_plan(problem.buffers, problem.predecessors, *plan);
    EXPECT_TRUE(proof.ok()) << proof.message();
    return std::move(plan).value();
}

MemoryPlan plan_serially(const PlanningProblem& problem) {
    Result<MemoryPlan> plan = plan_offsets(problem.buffers, StepOrder::serial(problem.steps()));
    EXPECT_TRUE(plan.ok()) << plan.error().message();
    const Status proof = check_plan(testing::in_step_order(problem), *plan);
    EXPECT_TRUE(proof.ok()) << proof.message();
    return std::move(plan).value();
}

TEST(PlanQuality, SerialNetworksTakeWhatIsAliveAtOnce) {
    for (const NetworkKind kind : kNetworkKinds) {
        for (const int32_t steps : {12, 60, 200, 500}) {
            for (uint64_t seed = 0; seed < 5; ++seed) {
                SCOPED_TRACE(name_of(kind) + " " + std::to_string(steps) + "." +
                             std::to_string(seed));
                const MemoryPlan plan = plan_serially(network_problem(kind, steps, seed));
                EXPECT_EQ(plan.height_bytes, plan.lower_bound_bytes);
            }
        }
    }
}

TEST(PlanQuality, NetworksWhoseBranchesOverlapTakeHardlyMore) {
    double sum = 0;
    int count = 0;
    for (const NetworkKind kind : kNetworkKinds) {
        for (const int32_t steps : {12, 60, 200}) {
            for (uint64_t seed = 0; seed < 5; ++seed) {
                SCOPED_TRACE(name_of(kind) + " " + std::to_string(steps) + "." +
                             std::to_string(seed));
                const MemoryPlan plan = plan_checked(network_problem(kind, steps, seed));
                const double ratio = double(plan.height_bytes) / double(plan.lower_bound_bytes);
                EXPECT_LE(ratio, 1.05);
                sum += ratio;
                ++count;
            }
        }
    }
    EXPECT_LE(sum / count, 1.001);
}

// Lifetimes that nothing structures, many alive together: hard to pack, so that a rule may be
// lucky.
std::vector<PlannedBuffer> random_lifetimes(uint64_t seed) {
    SplitMix random(seed);
    const int32_t count = 10 + random.below(290);
    const int32_t longest = 2 + random.below(60);
    const bool is_mixed = random.below(2) == 0;
    std::vector<PlannedBuffer> buffers(static_cast<size_t>(count));
    for (PlannedBuffer& buffer : buffers) {
        buffer.begin_step = random.below(count);
        buffer.end_step = buffer.begin_step + 1 + random.below(longest);
        buffer.size_bytes = 1 + random.below(50'000);
        buffer.alignment_bytes = is_mixed ? int64_t{1} << random.below(9) : 64;
    }
    return buffers;
}

TEST(PlanQuality, IsNeverLargerThanWhatFiveOthersPlan) {
    int ours_is_less[std::size(kPeerPlanners)] = {};
    const auto compare_lifetimes = [&](const std::vector<PlannedBuffer>& buffers) {
        const Result<MemoryPlan> plan = plan_offsets(buffers);
        ASSERT_TRUE(plan.ok());
        for (size_t i = 0; i < std::size(kPeerPlanners); ++i) {
            const int64_t theirs = kPeerPlanners[i].bytes(buffers);
            EXPECT_LE(plan->height_bytes, theirs) << kPeerPlanners[i].name;
            ours_is_less[i] += plan->height_bytes < theirs ? 1 : 0;
        }
    };
    const auto compare = [&](const PlanningProblem& problem) {
        compare_lifetimes(testing::in_step_order(problem));
    };
    for (const NetworkKind kind : kNetworkKinds) {
        for (uint64_t seed = 0; seed < 20; ++seed) {
            SCOPED_TRACE(name_of(kind) + " " + std::to_string(seed));
            compare(network_problem(kind, 10 + int32_t(seed) * 10, seed));
        }
    }
    for (uint64_t seed = 0; seed < 150; ++seed) {
        SCOPED_TRACE(seed);
        compare(random_problem(5 + int32_t(seed % 60), 10 + int32_t(seed % 90), seed));
    }
    for (uint64_t seed = 0; seed < 100; ++seed) {
        SCOPED_TRACE("lifetimes " + std::to_string(seed));
        compare_lifetimes(random_lifetimes(seed));
    }
    for (const int less : ours_is_less) {
        EXPECT_GT(less, 0);  // the rules do something
    }
}

TEST(PlanQuality, EqualsExhaustiveSearch) {
    for (uint64_t seed = 0; seed < 200; ++seed) {
        SCOPED_TRACE(seed);
        const PlanningProblem problem = random_problem(4 + int32_t(seed % 9), 8, seed);
        const MemoryPlan plan = plan_checked(problem);
        const auto items = testing::items_of(problem.buffers);
        EXPECT_EQ(plan.height_bytes, lowest_height(items, testing::conflicts_of(problem)));
        EXPECT_TRUE(plan.is_optimal());
        const auto serial = testing::in_step_order(problem);
        EXPECT_EQ(plan_serially(problem).height_bytes,
                  lowest_height(items, testing::conflicts_of(serial)));
    }
}

TEST(PlanWithin, IsMetImpossibleOrNotFound) {
    // Two of 100 bytes that branches use at the same time.
    const std::vector<std::vector<int32_t>> diamond = {{}, {0}, {0}, {1, 2}};
    const std::vector<UsedBuffer> buffers = {
        {50, 1, {0}}, {100, 1, {1}}, {100, 1, {2}}, {10, 1, {3}, true}};
    const StepOrder order(diamond);
    const Result<LimitAnswer> met = plan_within(buffers, order, 200);
    ASSERT_TRUE(met.ok());
    EXPECT_EQ(met->verdict, LimitVerdict::kMet);
    EXPECT_EQ(met->bytes_short, 0);
    EXPECT_EQ(met->plan.height_bytes, 200);
    const Result<LimitAnswer> impossible = plan_within(buffers, order, 170);
    ASSERT_TRUE(impossible.ok());
    EXPECT_EQ(impossible->verdict, LimitVerdict::kImpossible);
    EXPECT_EQ(impossible->bytes_short, 30);
    EXPECT_THAT(impossible->plan.bound_buffers, ElementsAre(1, 2));
    EXPECT_FALSE(plan_within(std::vector<UsedBuffer>{{-1, 1, {0}}}, order, 100).ok());
}

TEST(PlanWithin, IsImpossibleWhereOnlyAnExactSearchKnows) {
    for (uint64_t seed = 0, found = 0; found < 3; ++seed) {
        ASSERT_LT(seed, 20'000U);
        const PlanningProblem problem = random_problem(9, 9, seed);
        const MemoryPlan plan = plan_checked(problem);
        if (plan.height_bytes == plan.lower_bound_bytes) {
            continue;
        }
        ++found;
        const Result<LimitAnswer> answer =
            plan_within(problem.buffers, StepOrder(problem.predecessors), plan.height_bytes - 1);
        ASSERT_TRUE(answer.ok());
        EXPECT_EQ(answer->verdict, LimitVerdict::kImpossible);
        EXPECT_EQ(answer->bytes_short, 1);
    }
}

TEST(PlanWithin, SearchesLongerForALimit) {
    int met = 0;
    int missed = 0;
    for (uint64_t seed = 0; seed < 6; ++seed) {
        SCOPED_TRACE(seed);
        const PlanningProblem problem = random_problem(30, 60, seed);
        const StepOrder order(problem.predecessors);
        const MemoryPlan plan = plan_checked(problem);
        if (plan.is_optimal()) {
            continue;
        }
        const int64_t limit = (plan.height_bytes + plan.proved_bytes) / 2;
        const Result<LimitAnswer> answer = plan_within(problem.buffers, order, limit);
        ASSERT_TRUE(answer.ok());
        EXPECT_TRUE(check_plan(problem.buffers, problem.predecessors, answer->plan).ok());
        EXPECT_LE(answer->plan.height_bytes, plan.height_bytes);
        if (answer->verdict == LimitVerdict::kMet) {
            EXPECT_LE(answer->plan.height_bytes, limit);
            ++met;
        } else {
            EXPECT_EQ(answer->verdict, LimitVerdict::kNotFound);
            EXPECT_EQ(answer->bytes_short, answer->plan.height_bytes - limit);
            ++missed;
        }
    }
    RecordProperty("met", met);
    RecordProperty("missed", missed);
}

TEST(PlanAgain, KeepsTheArrangementForAnotherBatch) {
    for (const NetworkKind kind : kNetworkKinds) {
        SCOPED_TRACE(name_of(kind));
        PlanningProblem problem = network_problem(kind, 150, 1);
        const StepOrder order(problem.predecessors);
        const MemoryPlan former = plan_checked(problem);
        for (UsedBuffer& buffer : problem.buffers) {
            buffer.size_bytes *= 3;
        }
        const Result<MemoryPlan> again = plan_offsets_again(problem.buffers, order, former);
        ASSERT_TRUE(again.ok());
        EXPECT_TRUE(check_plan(problem.buffers, problem.predecessors, *again).ok());
        EXPECT_EQ(again->height_bytes, former.height_bytes * 3);
        EXPECT_EQ(again->lower_bound_bytes, former.lower_bound_bytes * 3);
        EXPECT_EQ(again->algorithm, "order of a former plan");
    }
}

TEST(PlanAgain, ConflictsTakenOverAreThoseFoundAnew) {
    SplitMix random(2);
    for (uint64_t seed = 0; seed < 60; ++seed) {
        SCOPED_TRACE(seed);
        PlanningProblem problem = network_problem(NetworkKind::kInception, 60, seed);
        const StepOrder order(problem.predecessors);
        const MemoryPlan former = plan_checked(problem);
        ASSERT_NE(former.problem, nullptr);
        for (UsedBuffer& buffer : problem.buffers) {
            buffer.size_bytes = int64_t{64} * (1 + random.below(1000));
            buffer.is_kept ^= seed % 3 == 0 && random.below(20) == 0;
        }
        MemoryPlan without = former;
        without.problem = nullptr;
        const Result<MemoryPlan> again = plan_offsets_again(problem.buffers, order, former);
        const Result<MemoryPlan> expected = plan_offsets_again(problem.buffers, order, without);
        ASSERT_TRUE(again.ok() && expected.ok());
        EXPECT_EQ(again->offsets, expected->offsets);
        EXPECT_EQ(again->bound_buffers, expected->bound_buffers);
        EXPECT_EQ(again->proved_bytes, expected->proved_bytes);
    }
}

// A detector finds nothing of some classes, and of others in the next run.
TEST(PlanAgain, BuffersThatLoseAllBytesKeepTheConflicts) {
    SplitMix random(5);
    for (uint64_t seed = 0; seed < 20; ++seed) {
        SCOPED_TRACE(seed);
        PlanningProblem problem = seed % 2 == 0
                                      ? random_problem(60, 120, seed)
                                      : network_problem(NetworkKind::kInception, 60, seed);
        const StepOrder order(problem.predecessors);
        const auto draw = [&](int32_t empty_of_3) {
            for (UsedBuffer& buffer : problem.buffers) {
                const bool is_empty = random.below(3) < empty_of_3;
                buffer.size_bytes = is_empty ? 0 : 64 * (1 + random.below(1000));
            }
        };
        draw(2);
        MemoryPlan former = plan_checked(problem);
        for (int run = 0; run < 8; ++run) {
            draw(run == 0 ? 0 : 1);  // all have bytes once
            const Result<MemoryPlan> again = plan_offsets_again(problem.buffers, order, former);
            ASSERT_TRUE(again.ok());
            EXPECT_TRUE(check_plan(problem.buffers, problem.predecessors, *again).ok());
            EXPECT_EQ(again->problem->has_conflicts_of(*former.problem), run > 0);
            for (size_t i = 0; i < problem.buffers.size(); ++i) {
                const bool is_bound = std::binary_search(again->bound_buffers.begin(),
                                                         again->bound_buffers.end(), int32_t(i));
                EXPECT_TRUE(problem.buffers[i].size_bytes > 0 ||
                            (!is_bound && again->offsets[i] == 0));
            }
            former = *again;
        }
    }
}

TEST(PlanAgain, EmptyBuffersHaveNoAlignment) {
    std::vector<UsedBuffer> buffers = {{600, 1, {0}}, {512, 256, {0, 1}}};
    const StepOrder order = StepOrder::serial(2);
    const Result<MemoryPlan> former = plan_offsets(buffers, order);
    ASSERT_TRUE(former.ok());
    buffers[1].size_bytes = 0;
    for (const int64_t spare_bytes : {0, 4096}) {
        const Result<MemoryPlan> again = plan_offsets_again(buffers, order, *former, spare_bytes);
        ASSERT_TRUE(again.ok());
        EXPECT_TRUE(again->problem->has_conflicts_of(*former->problem));
        EXPECT_EQ(again->height_bytes, 600);
        EXPECT_EQ(again->lower_bound_bytes, 600);
        EXPECT_EQ(again->offsets[1], 0);
    }
}

TEST(PlanAgain, PlansAnewWhereTheArrangementIsWorse) {
    SplitMix random(1);
    for (uint64_t seed = 0; seed < 30; ++seed) {
        SCOPED_TRACE(seed);
        PlanningProblem problem = network_problem(NetworkKind::kInception, 60, seed);
        const StepOrder order(problem.predecessors);
        const MemoryPlan former = plan_checked(problem);
        for (UsedBuffer& buffer : problem.buffers) {
            buffer.size_bytes = int64_t{64} * random.below(1000);  // zero as well
        }
        const Result<MemoryPlan> again = plan_offsets_again(problem.buffers, order, former);
        ASSERT_TRUE(again.ok());
        EXPECT_TRUE(check_plan(problem.buffers, problem.predecessors, *again).ok());
        const double before =
            std::max(double(former.height_bytes) / double(former.proved_bytes), 1.02);
        const MemoryPlan anew = plan_checked(problem);
        EXPECT_TRUE(double(again->height_bytes) <= before * double(again->proved_bytes) ||
                    again->height_bytes <= anew.height_bytes);
    }
}

// Sizes of a batch: most grow with it by a row that is no multiple of the alignment, some do not.
void set_batch(const PlanningProblem& of_one,
               int64_t alignment_bytes,
               int64_t batch,
               uint64_t seed,
               PlanningProblem& problem) {
    SplitMix random(seed);
    for (size_t i = 0; i < problem.buffers.size(); ++i) {
        const int64_t row_bytes = of_one.buffers[i].size_bytes / 16;
        problem.buffers[i].size_bytes = row_bytes * (random.below(8) == 0 ? 4 : batch);
        problem.buffers[i].alignment_bytes = alignment_bytes;
    }
}

TEST(PlanAgain, IsWithinTwoPercentOfAPlanAnew) {
    std::vector<double> ratios;
    const auto add = [&](const PlanningProblem& base, int64_t alignment_bytes, uint64_t seed) {
        PlanningProblem problem = base;
        const StepOrder order(problem.predecessors);
        set_batch(base, alignment_bytes, 12, seed, problem);
        MemoryPlan former = plan_checked(problem);
        for (const int64_t batch : {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 5, 1, 9}) {
            set_batch(base, alignment_bytes, batch, seed, problem);
            const Result<MemoryPlan> again = plan_offsets_again(problem.buffers, order, former);
            ASSERT_TRUE(again.ok());
            EXPECT_TRUE(check_plan(problem.buffers, problem.predecessors, *again).ok());
            ratios.push_back(double(again->height_bytes) /
                             double(plan_checked(problem).height_bytes));
            former = *again;
        }
    };
    for (const int64_t alignment_bytes : {64, 256}) {
        for (uint64_t seed = 0; seed < 4; ++seed) {
            for (const NetworkKind kind : kNetworkKinds) {
                add(network_problem(kind, 100, seed), alignment_bytes, seed);
            }
            add(random_problem(60, 120, seed), alignment_bytes, seed);
        }
    }
    std::sort(ratios.begin(), ratios.end());
    EXPECT_LE(ratios.back(), 1.02);
    RecordProperty("problems", int(ratios.size()));
    for (const int percent : {0, 50, 75, 95, 99}) {
        const size_t at = ratios.size() * size_t(percent) / 100;
        RecordProperty("p" + std::to_string(percent), std::to_string(ratios[at]));
    }
    RecordProperty("worst", std::to_string(ratios.back()));
}

// Where each item lies on top of all before it that it conflicts with.
std::vector<int64_t> offsets_on_top(const PlanProblem& problem, std::span<const int32_t> order) {
    std::vector<int64_t> offsets(order.size(), -1);
    for (const int32_t item : order) {
        int64_t end = 0;
        for (const int32_t other : problem.conflicts(item)) {
            const int64_t below = offsets[size_t(other)];
            end = std::max(end, below < 0 ? 0 : below + problem.item(other).size_bytes);
        }
        offsets[size_t(item)] = round_up(end, problem.item(item).alignment_bytes);
    }
    return offsets;
}

TEST(Arrangement, LaysEachItemOnTopOfAllBelowWhateverTheSizes) {
    SplitMix random(3);
    for (uint64_t seed = 0; seed < 60; ++seed) {
        SCOPED_TRACE(seed);
        PlanningProblem problem = seed % 2 == 0
                                      ? random_problem(40, 90, seed)
                                      : network_problem(kNetworkKinds[seed % 6], 80, seed);
        const StepOrder order(problem.predecessors);
        const MemoryPlan plan = plan_checked(problem);
        ASSERT_EQ(plan.arrangements.size(), 1U);
        for (UsedBuffer& buffer : problem.buffers) {
            buffer.size_bytes = buffer.size_bytes == 0 ? 0 : 1 + random.below(50'000);
        }
        const auto again = plan.problem->with_sizes(problem.buffers, order);
        ASSERT_NE(again, nullptr);
        std::vector<int64_t> offsets;
        const int64_t height = plan.arrangements[0]->place(*again, offsets);
        EXPECT_EQ(offsets, offsets_on_top(*again, plan.arrangements[0]->order()));
        int64_t highest = 0;
        for (int32_t item = 0; item < again->size(); ++item) {
            highest = std::max(highest, offsets[size_t(item)] + again->item(item).size_bytes);
        }
        EXPECT_EQ(height, highest);
    }
}

// The lowest offset at which the item meets nothing.
int64_t first_gap(const PlanProblem& problem, int32_t item, const std::vector<int64_t>& offsets) {
    const int64_t size_bytes = problem.item(item).size_bytes;
    const auto is_free = [&](int64_t offset) {
        const std::span<const int32_t> conflicts = problem.conflicts(item);
        return std::none_of(conflicts.begin(), conflicts.end(), [&](int32_t other) {
            const int64_t begin = offsets[size_t(other)];
            return begin >= 0 && begin < offset + size_bytes &&
                   begin + problem.item(other).size_bytes > offset;
        });
    };
    int64_t lowest = is_free(0) ? 0 : std::numeric_limits<int64_t>::max();
    for (const int32_t other : problem.conflicts(item)) {
        const int64_t end = round_up(offsets[size_t(other)] + problem.item(other).size_bytes,
                                     problem.item(item).alignment_bytes);
        lowest = offsets[size_t(other)] >= 0 && end < lowest && is_free(end) ? end : lowest;
    }
    return lowest;
}

// Of items that conflict with few others, and with most.
TEST(Placer, PutsEachItemIntoTheLowestGap) {
    for (uint64_t seed = 0; seed < 12; ++seed) {
        SCOPED_TRACE(seed);
        const int32_t steps = seed % 2 == 0 ? 20 : 300;
        const PlanningProblem source = random_problem(steps, 150, seed);
        const PlanProblem problem(source.buffers, StepOrder(source.predecessors));
        const std::vector<int32_t> order = ordered_items(problem, GreedyOrder::kArea);
        Placer placer(problem);
        placer.place(order, Fit::kFirst, std::numeric_limits<int64_t>::max());
        std::vector<int64_t> expected(size_t(problem.size()), -1);
        for (const int32_t item : order) {
            expected[size_t(item)] = first_gap(problem, item, expected);
        }
        EXPECT_EQ(placer.offsets(), expected);
    }
}

void draw_sizes(SplitMix& random, PlanningProblem& problem) {
    for (UsedBuffer& buffer : problem.buffers) {
        buffer.size_bytes = int64_t{64} * (1 + random.below(1000));
    }
}

// A batch between two others finds what was found for either.
TEST(PlanAgain, SearchesOnceForSizesThatComeBack) {
    SplitMix random(5);
    int searched = 0;
    for (uint64_t seed = 0; seed < 30; ++seed) {
        SCOPED_TRACE(seed);
        PlanningProblem problem = network_problem(NetworkKind::kInception, 60, seed);
        const StepOrder order(problem.predecessors);
        const PlanningProblem first = problem;
        draw_sizes(random, problem);
        const MemoryPlan one = plan_checked(first);
        const MemoryPlan other = *plan_offsets_again(problem.buffers, order, one);
        searched += other.arrangements.size() > one.arrangements.size() ? 1 : 0;
        const MemoryPlan one_again = *plan_offsets_again(first.buffers, order, other);
        EXPECT_EQ(one_again.algorithm, "order of a former plan");
        EXPECT_LE(double(one_again.height_bytes), 1.02 * double(one.height_bytes));
        const MemoryPlan other_again = *plan_offsets_again(problem.buffers, order, one_again);
        EXPECT_EQ(other_again.algorithm, "order of a former plan");
        EXPECT_LE(double(other_again.height_bytes), 1.02 * double(other.height_bytes));
        EXPECT_EQ(other_again.arrangements.size(), other.arrangements.size());
    }
    EXPECT_GT(searched, 0);
}

// So many items that a search takes milliseconds.
PlanningProblem problem_of_many(uint64_t seed) {
    PlanningProblem problem = random_problem(200, 900, seed);
    const PlanProblem items(problem.buffers, StepOrder(problem.predecessors));
    EXPECT_GT(items.conflict_count(), 300'000);
    return problem;
}

TEST(PlanOfMany, IsWithinTwoPercentOfTheBoundOrTheBestOfAllRules) {
    int close = 0;
    for (uint64_t seed = 0; seed < 6; ++seed) {
        SCOPED_TRACE(seed);
        const PlanningProblem problem = problem_of_many(seed);
        const MemoryPlan plan = plan_checked(problem);
        const bool is_close = double(plan.height_bytes) <= 1.02 * double(plan.proved_bytes);
        close += is_close ? 1 : 0;
        if (!is_close) {
            const PlanProblem items(problem.buffers, StepOrder(problem.predecessors));
            EXPECT_LE(plan.height_bytes, pack_greedily(items, 0).height_bytes);
        }
    }
    EXPECT_GT(close, 0);
}

TEST(PlanOfMany, IsNoHigherUnderALimit) {
    for (uint64_t seed = 0; seed < 3; ++seed) {
        SCOPED_TRACE(seed);
        const PlanningProblem problem = problem_of_many(seed);
        const StepOrder order(problem.predecessors);
        const MemoryPlan plan = plan_checked(problem);
        const LimitAnswer answer = *plan_within(problem.buffers, order, plan.height_bytes - 1);
        EXPECT_TRUE(check_plan(problem.buffers, problem.predecessors, answer.plan).ok());
        EXPECT_LE(answer.plan.height_bytes, plan.height_bytes);
        EXPECT_EQ(answer.verdict == LimitVerdict::kMet,
                  answer.plan.height_bytes < plan.height_bytes);
        EXPECT_EQ(answer.verdict == LimitVerdict::kImpossible, plan.is_optimal());
    }
}

TEST(PlanOfMany, IsTakenForOtherSizesWithinFivePercentOfTheBound) {
    int taken = 0;
    for (uint64_t seed = 0; seed < 3; ++seed) {
        const PlanningProblem base = problem_of_many(seed);
        PlanningProblem problem = base;
        const StepOrder order(problem.predecessors);
        set_batch(base, 64, 12, seed, problem);
        MemoryPlan former = plan_checked(problem);
        for (const int64_t batch : {11, 8, 6, 1, 2}) {
            SCOPED_TRACE(batch);
            set_batch(base, 64, batch, seed, problem);
            const MemoryPlan again = *plan_offsets_again(problem.buffers, order, former);
            EXPECT_TRUE(check_plan(problem.buffers, problem.predecessors, again).ok());
            double allowed = 1.05;
            for (const std::shared_ptr<const Arrangement>& arrangement : again.arrangements) {
                allowed = std::max(allowed, arrangement->searched_ratio());
                // Of each bound that was found, whatever the sizes are, too.
                const PlanBound bound =
                    bound_of_antichain(*again.problem, arrangement->bound_items());
                EXPECT_GE(again.lower_bound_bytes, bound.bytes);
            }
            EXPECT_LE(double(again.height_bytes), allowed * double(again.proved_bytes));
            taken += again.algorithm == "order of a former plan" ? 1 : 0;
            former = again;
        }
    }
    EXPECT_GT(taken, 0);
}

TEST(PlanAgain, TakesAnArrangementThatAnotherPlanHasFound) {
    SplitMix random(5);
    int searched = 0;
    for (uint64_t seed = 0; seed < 30; ++seed) {
        SCOPED_TRACE(seed);
        PlanningProblem problem = network_problem(NetworkKind::kInception, 60, seed);
        const StepOrder order(problem.predecessors);
        MemoryPlan one = plan_checked(problem);
        draw_sizes(random, problem);
        const MemoryPlan other = *plan_offsets_again(problem.buffers, order, one);
        searched += other.algorithm == "order of a former plan" ? 0 : 1;
        const std::vector<std::shared_ptr<const Arrangement>> own = one.arrangements;
        take_arrangements(other, one);
        EXPECT_TRUE(std::equal(own.begin(), own.end(), one.arrangements.begin())) << "own first";
        EXPECT_EQ(one.arrangements.size(), other.arrangements.size()) << "each once";
        const MemoryPlan again = *plan_offsets_again(problem.buffers, order, one);
        EXPECT_TRUE(check_plan(problem.buffers, problem.predecessors, again).ok());
        EXPECT_EQ(again.algorithm, "order of a former plan");
        EXPECT_LE(double(again.height_bytes), 1.02 * double(other.height_bytes));
    }
    EXPECT_GT(searched, 0);
}

TEST(PlanAgain, TakesNoArrangementOfOtherBuffers) {
    const std::vector<UsedBuffer> two = {{100, 64, {0}}, {200, 64, {1}}};
    const std::vector<UsedBuffer> three = {{100, 64, {0}}, {200, 64, {1}}, {300, 64, {1}}};
    MemoryPlan plan = *plan_offsets(two, StepOrder::serial(2));
    const size_t count = plan.arrangements.size();
    take_arrangements(*plan_offsets(three, StepOrder::serial(2)), plan);
    EXPECT_EQ(plan.arrangements.size(), count);
}

TEST(PlanAgain, FindsTheConflictsOfAnotherOrder) {
    const std::vector<UsedBuffer> buffers = {{100, 64, {0}}, {200, 64, {1}}};
    const Result<MemoryPlan> former = plan_offsets(buffers, StepOrder::serial(2));
    ASSERT_TRUE(former.ok());
    EXPECT_EQ(former->height_bytes, 200);
    const std::vector<std::vector<int32_t>> nobody_waits(2);
    const Result<MemoryPlan> again = plan_offsets_again(buffers, StepOrder(nobody_waits), *former);
    ASSERT_TRUE(again.ok());
    EXPECT_TRUE(check_plan(buffers, nobody_waits, *again).ok());
    EXPECT_GE(again->height_bytes, 300);
}

TEST(PlanAgain, LearnsNothingFromAPlanOfNothing) {
    PlanningProblem problem = network_problem(NetworkKind::kInception, 60, 2);
    const StepOrder order(problem.predecessors);
    const MemoryPlan anew = plan_checked(problem);
    std::vector<UsedBuffer> empty = problem.buffers;
    for (UsedBuffer& buffer : empty) {
        buffer.size_bytes = 0;
    }
    const Result<MemoryPlan> former = plan_offsets(empty, order);
    ASSERT_TRUE(former.ok());
    EXPECT_EQ(plan_offsets_again(problem.buffers, order, *former)->offsets, anew.offsets);
}

TEST(PlanAgain, TakesNoBoundFromBuffersThatMayShare) {
    const std::vector<UsedBuffer> together = {{100, 64, {0, 1}}, {100, 64, {0, 1}}};
    const std::vector<UsedBuffer> apart = {{100, 64, {0}}, {100, 64, {1}}};
    const StepOrder order = StepOrder::serial(2);
    const Result<MemoryPlan> former = plan_offsets(together, order);
    ASSERT_TRUE(former.ok());
    const Result<MemoryPlan> again = plan_offsets_again(apart, order, *former);
    ASSERT_TRUE(again.ok());
    EXPECT_EQ(again->lower_bound_bytes, 100);
    EXPECT_EQ(again->height_bytes, 100);
}

TEST(PlanAgain, RefusesAPlanOfOtherBuffers) {
    const std::vector<UsedBuffer> buffers = {{100, 64, {0}}};
    EXPECT_FALSE(plan_offsets_again(buffers, StepOrder::serial(1), MemoryPlan{}).ok());
}

}  // namespace
}  // namespace leat
