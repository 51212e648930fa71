// What plans of so many steps rely on that a matrix of all steps would be too large: less than
// holds, and never more. The limit is low here, so that what holds can be looked up.
#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <numeric>
#include <vector>

#include "base/split_mix.h"
#include "memory/member_ranges.h"
#include "memory/memory_planner.h"
#include "memory/offsets/plan.h"
#include "memory/order/order_search.h"
#include "memory/order/reach_queries.h"
#include "memory/order/step_order.h"
#include "memory/value_groups.h"
#include "support/exhaustive_planning.h"
#include "support/order_peak.h"
#include "support/plan_checks.h"
#include "support/planning_problems.h"

namespace leat {
namespace {

using testing::PlanningProblem;
using Steps = std::vector<std::vector<int32_t>>;

constexpr int64_t kNoMatrix = 0;

StepOrder order_without_matrix(const Steps& steps) {
    const OrderLimitForTests limit(kNoMatrix);
    return StepOrder(steps);
}

// Two rails; both steps of a rung wait for both of the rung before.
Steps ladder(int32_t rungs) {
    Steps steps = {{}, {}};
    for (int32_t rung = 1; rung < rungs; ++rung) {
        const int32_t left = 2 * rung - 2;
        steps.push_back({left, left + 1});
        steps.push_back({left, left + 1});
    }
    return steps;
}

// Step 0, `branches` lines of `length` steps each, one after the other, and their join.
Steps branches(int32_t branches, int32_t length) {
    Steps steps = {{}};
    std::vector<int32_t> ends;
    for (int32_t branch = 0; branch < branches; ++branch) {
        for (int32_t i = 0; i < length; ++i) {
            steps.push_back({i == 0 ? 0 : int32_t(steps.size()) - 1});
        }
        ends.push_back(int32_t(steps.size()) - 1);
    }
    steps.push_back(ends);
    return steps;
}

// Each waits for all that stand `distance` to 2 `distance` - 1 places before it.
Steps window(int32_t count, int32_t distance) {
    Steps steps(static_cast<size_t>(count));
    for (int32_t step = 0; step < count; ++step) {
        for (int32_t before = std::max(step - 2 * distance + 1, 0); before <= step - distance;
             ++before) {
            steps[size_t(step)].push_back(before);
        }
    }
    return steps;
}

void expect_all_known(const StepOrder& order, const Steps& steps) {
    const auto reaches = testing::reachability(steps);
    for (int32_t a = 0; a < order.step_count(); ++a) {
        for (int32_t b = 0; b < order.step_count(); ++b) {
            ASSERT_EQ(order.precedes(a, b), reaches[size_t(a)][size_t(b)]) << a << ' ' << b;
        }
    }
}

TEST(OrderWithoutMatrix, SaysNothingThatDoesNotHold) {
    for (uint64_t seed = 0; seed < 200; ++seed) {
        const auto steps = int32_t(2 + seed);
        const PlanningProblem problem = testing::random_problem(steps, 0, seed);
        const auto reaches = testing::reachability(problem.predecessors);
        const StepOrder order = order_without_matrix(problem.predecessors);
        for (int32_t a = 0; a < steps; ++a) {
            for (int32_t b = 0; b < steps; ++b) {
                ASSERT_TRUE(!order.precedes(a, b) || reaches[size_t(a)][size_t(b)])
                    << seed << ": " << a << ' ' << b;
            }
            for (int32_t b = order.is_whole() ? steps : order.settled_at(a); b < steps; ++b) {
                ASSERT_TRUE(reaches[size_t(a)][size_t(b)]) << seed << ": " << a << ' ' << b;
            }
        }
    }
}

TEST(OrderWithoutMatrix, KnowsAllOfLaddersWindowsAndJoins) {
    for (const Steps& steps : {ladder(200), window(300, 1 + 15), window(100, 2), branches(3, 20)}) {
        const StepOrder order = order_without_matrix(steps);
        ASSERT_FALSE(order.is_whole());
        expect_all_known(order, steps);
        EXPECT_TRUE(StepOrder(steps).is_whole());
        expect_all_known(StepOrder(steps), steps);
    }
    // Of steps in longer branches it knows those near them, and what follows the join.
    const Steps steps = branches(4, 200);
    const StepOrder order = order_without_matrix(steps);
    const auto join = int32_t(steps.size()) - 1;
    EXPECT_EQ(order.settled_at(0), 1);
    for (int32_t step = 1; step < join; ++step) {
        EXPECT_TRUE(order.precedes(step, join)) << step;
    }
    EXPECT_TRUE(order.precedes(1, 1 + 64));
    EXPECT_FALSE(order.precedes(1, 1 + 65));
}

TEST(StepOrder, GivesSuccessorsAsBits) {
    for (const Steps& steps : {ladder(100), window(150, 16), branches(3, 70),
                               testing::random_problem(140, 0, 1).predecessors}) {
        const auto reaches = testing::reachability(steps);
        const StepOrder order(steps);
        for (int32_t a = 0; a < order.step_count(); ++a) {
            std::vector<uint64_t> words((steps.size() + 63) / 64, ~uint64_t{0});
            order.keep_successors(a, words);
            for (size_t b = 0; b < steps.size(); ++b) {
                ASSERT_EQ(((words[b / 64] >> (b % 64)) & 1) != 0, reaches[size_t(a)][b])
                    << a << ' ' << b;
            }
        }
    }
}

TEST(OrderWithoutMatrix, IsThatOfALineToo) {
    const OrderLimitForTests limit(kNoMatrix);
    EXPECT_TRUE(StepOrder(Steps{{}, {0}, {1, 0}, {2}}).is_serial());
    EXPECT_TRUE(StepOrder(Steps{{}, {0}}).is_whole());
}

TEST(OrderWithoutMatrix, BeginsAboveTheLimit) {
    EXPECT_TRUE(keeps_whole_order(8'192));
    EXPECT_FALSE(keeps_whole_order(8'193));
}

// Some three of the steps, at least one.
std::vector<int32_t> some_steps(int32_t count, SplitMix& random) {
    std::vector<int32_t> steps;
    for (int32_t step = 0; step < count; ++step) {
        if (random.below(count) < 3) {
            steps.push_back(step);
        }
    }
    return steps.empty() ? std::vector<int32_t>{random.below(count)} : steps;
}

bool are_all_ordered(const ReachQuery& query, const std::vector<std::vector<bool>>& reaches) {
    return std::all_of(query.before.begin(), query.before.end(), [&](int32_t before) {
        return std::all_of(query.after.begin(), query.after.end(),
                           [&](int32_t after) { return reaches[size_t(before)][size_t(after)]; });
    });
}

TEST(ReachQueries, AgreeWithStepwiseReachability) {
    SplitMix random(1);
    for (uint64_t seed = 0; seed < 60; ++seed) {
        const auto count = int32_t(2 + 5 * seed);
        const PlanningProblem problem = testing::random_problem(count, 0, seed);
        const auto reaches = testing::reachability(problem.predecessors);
        std::vector<std::vector<int32_t>> lists(40);
        std::generate(lists.begin(), lists.end(), [&] { return some_steps(count, random); });
        std::vector<ReachQuery> queries;
        for (size_t i = 0; i < 200; ++i) {
            queries.push_back(
                {lists[random.next() % lists.size()], lists[random.next() % lists.size()]});
        }
        const std::vector<bool> answers = are_ordered(problem.predecessors, queries);
        for (size_t i = 0; i < queries.size(); ++i) {
            ASSERT_EQ(answers[i], are_all_ordered(queries[i], reaches)) << seed << ": query " << i;
        }
    }
}

TEST(PlanWithoutMatrix, IsProvedUnderTheWholeOrder) {
    for (uint64_t seed = 0; seed < 150; ++seed) {
        const PlanningProblem problem = testing::random_problem(20 + int32_t(seed), 60, seed);
        const Result<MemoryPlan> plan =
            plan_offsets(problem.buffers, order_without_matrix(problem.predecessors));
        ASSERT_TRUE(plan.ok()) << plan.error().message();
        const Status proof = check_plan(problem.buffers, problem.predecessors, *plan);
        ASSERT_TRUE(proof.ok()) << seed << ": " << proof.message();
    }
}

// Plans with offsets that are wrong, or by luck right: both checks say the same.
TEST(PlanWithoutMatrix, IsCheckedAsWithOne) {
    SplitMix random(7);
    int wrong = 0;
    int right = 0;
    for (uint64_t seed = 0; seed < 300; ++seed) {
        const PlanningProblem problem = testing::random_problem(10 + int32_t(seed % 90), 25, seed);
        MemoryPlan plan = *plan_offsets(problem.buffers, StepOrder(problem.predecessors));
        const size_t moved = random.next() % plan.offsets.size();
        plan.offsets[moved] = plan.offsets[random.next() % plan.offsets.size()];
        plan.offsets[moved] -= plan.offsets[moved] % problem.buffers[moved].alignment_bytes;
        const Status expected = check_plan(problem.buffers, problem.predecessors, plan);
        const OrderLimitForTests limit(kNoMatrix);
        const Status found = check_plan(problem.buffers, problem.predecessors, plan);
        ASSERT_EQ(found.ok(), expected.ok()) << seed << ": " << expected.message();
        (expected.ok() ? right : wrong) += 1;
    }
    EXPECT_GT(wrong, 50);
    EXPECT_GT(right, 50);
}

// Steps that read two random results and write one, over an input if they may.
MemoryProblem random_memory_problem(int32_t steps, uint64_t seed) {
    SplitMix random(seed);
    MemoryProblem problem;
    for (int32_t step = 0; step < steps; ++step) {
        problem.values.push_back(
            {int64_t(64 * (1 + random.next() % 2)), true, random.next() % 16 == 0});
        MemoryStep own;
        own.writes = {step};
        for (int i = 0; i < 2 && step > 0; ++i) {
            const auto back = int32_t(1 + random.next() % uint64_t(std::min(step, 12)));
            const int32_t input = step - back;
            if (std::find(own.reads.begin(), own.reads.end(), input) != own.reads.end()) {
                continue;
            }
            own.reads.push_back(input);
            if (problem.values[size_t(input)].size_bytes == problem.values.back().size_bytes) {
                own.in_place.push_back(input);
            }
        }
        problem.steps.push_back(own);
    }
    return problem;
}

TEST(PlannerWithoutMatrix, MakesLayoutsThatHoldUnderTheWholeOrder) {
    for (uint64_t seed = 0; seed < 40; ++seed) {
        const MemoryProblem problem = random_memory_problem(150, seed);
        const MemoryPlanner whole(problem);
        for (const RunAhead run_ahead : {RunAhead::kUnlimited, RunAhead{16}, RunAhead{2},
                                         RunAhead::kSerial, RunAhead::kOneWorker}) {
            MemoryLayout layout;
            {
                const OrderLimitForTests limit(kNoMatrix);
                const MemoryPlanner planner(problem);
                ASSERT_EQ(planner.order(), whole.order());
                Result<MemoryLayout> made = planner.lay_out({.run_ahead = run_ahead});
                ASSERT_TRUE(made.ok()) << made.error().message();
                layout = std::move(made).value();
            }
            const Status proof = check_plan(layout.buffers, layout.moments->waits, layout.plan);
            ASSERT_TRUE(proof.ok()) << seed << ": " << proof.message();
            // The waits make the same of what lies there.
            const Status waits = check_plan(layout.buffers, *layout.waits, layout.plan);
            ASSERT_TRUE(waits.ok()) << seed << ": " << waits.message();
            const Result<MemoryLayout> best = whole.lay_out({.run_ahead = run_ahead});
            ASSERT_TRUE(best.ok()) << best.error().message();
            EXPECT_GE(layout.added_waits, 0);
            EXPECT_GE(layout.plan.height_bytes, best->plan.proved_bytes) << seed;
        }
    }
}

// Two wholes, with parts of them and parts of parts.
TEST(MemberRanges, FindWhatOverlaps) {
    SplitMix random(5);
    MemoryProblem problem;
    problem.alignment_bytes = 1;
    problem.values = {{4096, true, false}, {4096, true, false}};
    ValueGroups groups(problem);
    for (int32_t value = 2; value < 400; ++value) {
        const int32_t whole = random.below(value);
        const int64_t bytes = random.below(int32_t(problem.values[size_t(whole)].size_bytes) + 1);
        problem.values.push_back({bytes, true, false});
        problem.views.push_back(
            {value, whole,
             random.below(int32_t(problem.values[size_t(whole)].size_bytes - bytes) + 1)});
    }
    groups = ValueGroups(problem);
    for (const ValueView& view : problem.views) {
        ASSERT_TRUE(groups.join({&view, 1}));
    }
    MemberRanges ranges(groups);
    std::vector<int32_t> inside;
    const auto expect_all_found = [&] {
        for (int32_t value = 0; value < 400; ++value) {
            std::vector<int32_t> expected;
            std::copy_if(inside.begin(), inside.end(), std::back_inserter(expected),
                         [&](int32_t other) { return groups.overlap(value, other); });
            std::vector<int32_t> found;
            EXPECT_TRUE(ranges.all_overlapping(value, [&](int32_t other) {
                found.push_back(other);
                return true;
            }));
            std::sort(found.begin(), found.end());
            ASSERT_EQ(found, expected) << value;
            ASSERT_EQ(ranges.overlaps(value), !expected.empty());
        }
    };
    for (int32_t value = 0; value < 400; ++value) {
        ranges.add(value);
        inside.push_back(value);
        if (value == 10 || value == 399) {
            expect_all_found();
        }
    }
    ranges.remove_within(17);
    inside.erase(std::remove_if(inside.begin(), inside.end(),
                                [&](int32_t value) {
                                    const int64_t begin = groups.offset_bytes(17);
                                    const int64_t own = groups.offset_bytes(value);
                                    return groups.overlap(17, value) && begin <= own &&
                                           own + groups.size_bytes(value) <=
                                               begin + groups.size_bytes(17);
                                }),
                 inside.end());
    expect_all_found();
}

// 0 = f(), its parts 1 to n; n + i = g(i) over each part, but for part 7, which the last step reads
// as well as all results.
TEST(MemoryPlanner, WritesOverPartsOfALargeValue) {
    constexpr int32_t kParts = 300;
    MemoryProblem problem;
    problem.values.push_back({int64_t{64} * kParts, true, false});
    problem.values.resize(2 * kParts + 2, {64, true, false});
    problem.values.back() = {64, true, true};
    problem.steps.push_back({{}, {0}, {}, {}});
    MemoryStep last{{7}, {2 * kParts + 1}, {}, {}};
    for (int32_t part = 1; part <= kParts; ++part) {
        problem.views.push_back({part, 0, int64_t{64} * (part - 1)});
        problem.steps.push_back({{part}, {kParts + part}, {part}, {}});
        last.reads.push_back(kParts + part);
    }
    problem.steps.push_back(last);
    const MemoryPlanner planner(problem);
    for (const RunAhead run_ahead :
         {RunAhead::kUnlimited, RunAhead::kSerial, RunAhead::kOneWorker}) {
        const Result<MemoryLayout> layout = planner.lay_out({.run_ahead = run_ahead});
        ASSERT_TRUE(layout.ok()) << layout.error().message();
        for (int32_t part = 1; part <= kParts; ++part) {
            const ValuePlace& place = layout->places[size_t(kParts) + size_t(part)];
            EXPECT_EQ(place.root == 0, part != 7) << part;
            EXPECT_TRUE(part == 7 || place.offset_bytes == int64_t{64} * (part - 1)) << part;
        }
    }
}

// More items than conflicts are listed of, nearly all of which are alive together.
TEST(CrowdedPlan, PacksInTime) {
    SplitMix random(3);
    std::vector<PlannedBuffer> buffers;
    for (int32_t i = 0; i < 12'000; ++i) {
        const auto length = int32_t(1 + random.next() % 3'000);
        buffers.push_back(
            {int64_t(1 + random.next() % 1'000), int64_t{1} << (random.next() % 9), i, i + length});
    }
    const Result<MemoryPlan> plan = plan_offsets(buffers);
    ASSERT_TRUE(plan.ok()) << plan.error().message();
    const Status proof = check_plan(buffers, *plan);
    ASSERT_TRUE(proof.ok()) << proof.message();
    EXPECT_LE(double(plan->height_bytes), 1.5 * double(plan->lower_bound_bytes));
    EXPECT_LT(plan->height_bytes, plan->unplanned_bytes / 4);
}

// A hub, results of all that read it, and a tree that adds them: the file's order keeps half of the
// results alive at once, depth first only as many as the tree is deep.
OrderProblem fan(int32_t leaves) {
    OrderProblem problem;
    problem.buffers.push_back({64, 0, {}, false});
    std::vector<int32_t> level;
    int32_t step = 1;
    for (; step <= leaves; ++step) {
        problem.buffers[0].readers.push_back(step);
        level.push_back(int32_t(problem.buffers.size()));
        problem.buffers.push_back({64, step, {}, false});
    }
    while (level.size() > 1) {
        std::vector<int32_t> next;
        for (size_t i = 0; i + 1 < level.size(); i += 2, ++step) {
            problem.buffers[size_t(level[i])].readers.push_back(step);
            problem.buffers[size_t(level[i + 1])].readers.push_back(step);
            next.push_back(int32_t(problem.buffers.size()));
            problem.buffers.push_back({64, step, {}, false});
        }
        if (level.size() % 2 == 1) {
            next.push_back(level.back());
        }
        level = std::move(next);
    }
    problem.buffers.back().is_kept = true;
    problem.step_count = step;
    return problem;
}

// The same backwards: a tree that divides, and a last step that reads all leaves.
OrderProblem reversed(const OrderProblem& problem) {
    OrderProblem other;
    other.step_count = problem.step_count;
    const auto mirrored = [&](int32_t step) { return problem.step_count - 1 - step; };
    for (const OrderedBuffer& buffer : problem.buffers) {
        if (buffer.readers.size() == 1) {
            other.buffers.push_back(
                {buffer.size_bytes, mirrored(buffer.readers[0]), {mirrored(buffer.writer)}, false});
        }
    }
    for (const int32_t reader : problem.buffers[0].readers) {
        other.buffers.push_back({64, mirrored(reader), {mirrored(0)}, false});
    }
    return other;
}

TEST(OrderOfManySteps, GoesDepthFirstWhereThatIsLow) {
    const OrderProblem forward = fan(6'000);
    const OrderProblem backward = reversed(forward);
    for (const OrderProblem* each : {&forward, &backward}) {
        const OrderProblem& problem = *each;
        const StepSequence found = order_for_smallest_peak(problem);
        std::vector<int32_t> sorted = found.steps;
        std::sort(sorted.begin(), sorted.end());
        std::vector<int32_t> all(size_t(problem.step_count));
        std::iota(all.begin(), all.end(), 0);
        ASSERT_EQ(sorted, all);
        EXPECT_EQ(peak_bytes(problem, found.steps), found.peak_bytes);
        EXPECT_LE(found.lower_bound_bytes, found.peak_bytes);
        EXPECT_GT(peak_bytes(problem, all), 64 * 3'000);
        EXPECT_LE(found.peak_bytes, each == &forward ? int64_t{64} * 20 : peak_bytes(problem, all));
    }
}

// As many segments as steps: each is moved to once, and its bound looks at its own buffers.
TEST(OrderOfManySteps, KeepsALadder) {
    OrderProblem problem;
    problem.step_count = 40'000;
    for (int32_t step = 0; step < problem.step_count; ++step) {
        OrderedBuffer own{64, step, {}, step + 2 >= problem.step_count};
        const int32_t next = step - step % 2 + 2;
        if (next + 1 < problem.step_count) {
            own.readers = {next, next + 1};
        }
        problem.buffers.push_back(own);
    }
    const StepSequence found = order_for_smallest_peak(problem);
    EXPECT_EQ(found.peak_bytes, 4 * 64);
    EXPECT_EQ(found.lower_bound_bytes, 3 * 64);  // of each step alone
}

}  // namespace
}  // namespace leat
