#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <vector>

#include "memory/order/order_graph.h"
#include "memory/order/order_search.h"
#include "memory/order/order_state.h"
#include "support/brute_force_order.h"
#include "support/order_peak.h"

namespace leat {
namespace {

using ::testing::ElementsAre;

std::vector<int32_t> file_order(const OrderProblem& problem) {
    std::vector<int32_t> order(size_t(problem.step_count));
    std::iota(order.begin(), order.end(), 0);
    return order;
}

struct RandomShape {
    uint32_t steps = 1;
    uint32_t sizes = 1;  // below
    uint32_t reads = 1;  // at most
    bool has_unequal_choices = false;
};

void add_choices(std::mt19937& random, bool is_unequal, OrderProblem& problem) {
    for (int32_t input = 0; input < int32_t(problem.buffers.size()); ++input) {
        for (int32_t output = 0; output < int32_t(problem.buffers.size()); ++output) {
            const OrderedBuffer& from = problem.buffers[size_t(input)];
            const OrderedBuffer& to = problem.buffers[size_t(output)];
            const bool is_first = std::none_of(
                problem.in_place.begin(), problem.in_place.end(), [&](const auto& choice) {
                    return choice.step == to.writer &&
                           problem.buffers[size_t(choice.input_buffer)].size_bytes !=
                               from.size_bytes;
                });
            if (from.size_bytes == to.size_bytes && (is_first || is_unequal) &&
                std::count(from.readers.begin(), from.readers.end(), to.writer) == 1 &&
                random() % 4 != 0) {
                problem.in_place.push_back({to.writer, input, output});
            }
        }
    }
    std::shuffle(problem.in_place.begin(), problem.in_place.end(), random);
}

// Every step writes one or two buffers and reads some of those before it.
OrderProblem random_problem(uint32_t seed, const RandomShape& shape) {
    std::mt19937 random(seed);
    OrderProblem problem;
    problem.step_count = int32_t(shape.steps);
    for (int32_t step = 0; step < problem.step_count; ++step) {
        const uint32_t reads = problem.buffers.empty() ? 0 : random() % (shape.reads + 1);
        for (uint32_t i = 0; i < reads; ++i) {
            auto& readers = problem.buffers[random() % problem.buffers.size()].readers;
            if (readers.empty() || readers.back() != step) {
                readers.push_back(step);
            }
        }
        const uint32_t writes = random() % 4 == 0 ? 2 : 1;
        for (uint32_t i = 0; i < writes; ++i) {
            problem.buffers.push_back(
                {int64_t(random() % shape.sizes), step, {}, random() % 8 == 0});
        }
        if (step > 0 && random() % 6 == 0) {
            problem.extra_edges.emplace_back(int32_t(random() % uint32_t(step)), step);
        }
    }
    add_choices(random, shape.has_unequal_choices, problem);
    return problem;
}

// An order in which all is proved by peak_by_lifetimes(), which shares no code.
void expect_consistent(const OrderProblem& problem, const StepSequence& result) {
    ASSERT_TRUE(
        std::is_permutation(result.steps.begin(), result.steps.end(), file_order(problem).begin()));
    EXPECT_EQ(result.peak_bytes, peak_bytes(problem, result.steps));
    EXPECT_EQ(result.peak_bytes, peak_by_lifetimes(problem, result.steps));
    EXPECT_LE(result.peak_bytes, peak_by_lifetimes(problem, file_order(problem)));
    EXPECT_LE(result.lower_bound_bytes, result.peak_bytes);
    EXPECT_EQ(result.is_optimal, result.lower_bound_bytes == result.peak_bytes);
}

TEST(OrderSearch, AgreesWithTryingEveryOrder) {
    for (uint32_t seed = 0; seed < 1000; ++seed) {
        SCOPED_TRACE(seed);
        const OrderProblem problem =
            random_problem(seed, {2 + seed % 7, 2 + seed % 11, 1 + seed % 3});
        const StepSequence result = order_for_smallest_peak(problem);
        expect_consistent(problem, result);
        EXPECT_TRUE(result.is_optimal);
        EXPECT_EQ(result.peak_bytes, smallest_peak_by_trying(problem));
    }
}

TEST(OrderSearch, AgreesWithTryingEveryOrderOfNineSteps) {
    for (uint32_t seed = 0; seed < 20; ++seed) {
        SCOPED_TRACE(seed);
        const OrderProblem problem = random_problem(seed, {9, 2 + seed, 3});
        EXPECT_EQ(order_for_smallest_peak(problem).peak_bytes, smallest_peak_by_trying(problem));
    }
}

// Where a step may write over buffers of different sizes nothing is proved, but all else holds.
TEST(OrderSearch, BoundHoldsWhereChoicesOfAStepDifferInSize) {
    for (uint32_t seed = 0; seed < 300; ++seed) {
        SCOPED_TRACE(seed);
        const OrderProblem problem =
            random_problem(seed, {3 + seed % 6, 2 + seed % 5, 3, /*has_unequal_choices=*/true});
        const StepSequence result = order_for_smallest_peak(problem);
        expect_consistent(problem, result);
        EXPECT_LE(result.lower_bound_bytes, smallest_peak_by_trying(problem));
    }
}

TEST(OrderSearch, IsNeverWorseThanTheFileAndRepeatable) {
    for (uint32_t seed = 0; seed < 60; ++seed) {
        SCOPED_TRACE(seed);
        const OrderProblem problem = random_problem(seed, {20 + 4 * seed, 1000, 1 + seed % 3});
        for (const int64_t max_work : {int64_t{0}, int64_t{100}, int64_t{20'000}}) {
            const StepSequence result = order_for_smallest_peak(problem, max_work);
            expect_consistent(problem, result);
            EXPECT_EQ(result.steps, order_for_smallest_peak(problem, max_work).steps);
        }
    }
}

// `first`, a step that reads all that nothing else has read, then `second`.
OrderProblem in_series(OrderProblem first, const OrderProblem& second) {
    const int32_t join = first.step_count;
    const auto join_buffer = int32_t(first.buffers.size());
    for (OrderedBuffer& buffer : first.buffers) {
        if (buffer.readers.empty()) {
            buffer.readers.push_back(join);
        }
    }
    first.buffers.push_back({1, join, {}, false});
    for (OrderedBuffer buffer : second.buffers) {
        buffer.writer += join + 1;
        for (int32_t& reader : buffer.readers) {
            reader += join + 1;
        }
        first.buffers[size_t(join_buffer)].readers.push_back(buffer.writer);
        first.buffers.push_back(std::move(buffer));
    }
    auto& readers = first.buffers[size_t(join_buffer)].readers;
    readers.erase(std::unique(readers.begin(), readers.end()), readers.end());
    for (const InPlaceChoice& choice : second.in_place) {
        first.in_place.push_back({choice.step + join + 1, choice.input_buffer + join_buffer + 1,
                                  choice.output_buffer + join_buffer + 1});
    }
    for (const auto& [before, after] : second.extra_edges) {
        first.extra_edges.emplace_back(before + join + 1, after + join + 1);
    }
    first.step_count += 1 + second.step_count;
    return first;
}

// A bound that is claimed after little work is never above an order that more work finds.
TEST(OrderSearch, BoundHoldsWhenItGivesUp) {
    int given_up = 0;
    for (uint32_t seed = 0; seed < 30; ++seed) {
        SCOPED_TRACE(seed);
        const RandomShape shape = {20, 20, 2};
        const OrderProblem problem =
            in_series(random_problem(seed, shape), random_problem(seed + 1000, shape));
        const int64_t smallest =
            peak_by_lifetimes(problem, order_for_smallest_peak(problem, 1'000'000).steps);
        for (const int64_t max_work : {1, 100, 300, 1'000, 3'000}) {
            const StepSequence result = order_for_smallest_peak(problem, max_work);
            expect_consistent(problem, result);
            EXPECT_LE(result.lower_bound_bytes, smallest);
            given_up += int(!result.is_optimal);
        }
    }
    EXPECT_GT(given_up, 0);
}

// Steps write 1 byte each unless a size is drawn.
//
//  0 --> 1 (8) --> 3 --> 5
//   \--> 2 (8) --> 4 --^
TEST(OrderSearch, FinishesOneBranchBeforeTheNext) {
    OrderProblem problem;
    problem.step_count = 6;
    // In the file's order 0, 1, 2, 3, 4, 5 both large buffers would be alive at once.
    problem.buffers = {{1, 0, {1, 2}, false}, {8, 1, {3}, false}, {8, 2, {4}, false},
                       {1, 3, {5}, false},    {1, 4, {5}, false}, {1, 5, {}, true}};
    EXPECT_EQ(peak_bytes(problem, file_order(problem)), 17);
    const StepSequence result = order_for_smallest_peak(problem);
    EXPECT_THAT(result.steps, ElementsAre(0, 1, 3, 2, 4, 5));
    EXPECT_EQ(result.peak_bytes, 10);
    EXPECT_TRUE(result.is_optimal);
}

//  0 (4) --> 1 (4, over 0) --> 3
//       \--> 2 (1) ------------^
TEST(OrderSearch, LetsTheLastReaderWriteInPlace) {
    OrderProblem problem;
    problem.step_count = 4;
    problem.buffers = {
        {4, 0, {1, 2}, false}, {4, 1, {3}, false}, {1, 2, {3}, false}, {1, 3, {}, true}};
    problem.in_place = {{1, 0, 1}};
    EXPECT_EQ(peak_bytes(problem, file_order(problem)), 9);
    const StepSequence result = order_for_smallest_peak(problem);
    EXPECT_THAT(result.steps, ElementsAre(0, 2, 1, 3));
    EXPECT_EQ(result.peak_bytes, 6);
    problem.buffers[0].is_kept = true;
    EXPECT_EQ(order_for_smallest_peak(problem).peak_bytes, 10);
}

TEST(OrderSearch, KeepsTheFilesOrderWhereNothingIsGained) {
    OrderProblem problem;
    problem.step_count = 5;
    problem.buffers = {{1, 0, {1, 2}, false},
                       {3, 1, {4}, false},
                       {1, 2, {3}, false},
                       {1, 3, {4}, false},
                       {9, 4, {}, true}};
    EXPECT_EQ(order_for_smallest_peak(problem).steps, file_order(problem));
}

// A random order; `state` is at its end then. By step, the bytes alive during it.
std::vector<int64_t> peaks_of_random_order(std::mt19937& random, OrderState& state) {
    std::vector<int64_t> peaks(state.ready().size());
    while (!state.ready().empty()) {
        const int32_t step = state.ready()[random() % state.ready().size()];
        peaks.resize(std::max(peaks.size(), size_t(step) + 1));
        peaks[size_t(step)] = state.peak_bytes(step);
        state.execute(step);
    }
    return peaks;
}

TEST(OrderState, BackwardHasTheSameBytesAliveInEachStep) {
    for (uint32_t seed = 0; seed < 200; ++seed) {
        SCOPED_TRACE(seed);
        std::mt19937 random(seed);
        const OrderGraph graph(random_problem(seed, {5 + seed % 20, 9, 3}));
        OrderState forward(graph);
        OrderState backward(graph, OrderDirection::kBackward);
        for (int i = 0; i < 3; ++i) {
            const std::vector<int64_t> peaks = peaks_of_random_order(random, forward);
            for (size_t left = forward.done().size(); left-- > 0;) {
                const int32_t step = forward.done()[left];
                EXPECT_EQ(backward.alive_bytes(), forward.alive_bytes());
                EXPECT_EQ(backward.peak_bytes(step), peaks[size_t(step)]);
                backward.execute(step);
                forward.undo();
            }
            EXPECT_EQ(backward.alive_bytes(), 0);
            EXPECT_EQ(forward.alive_bytes(), 0);
            backward.undo_until(0);
            EXPECT_EQ(forward.key(), OrderState(graph).key());
        }
    }
}

// Ten chains of ten steps that join; too many orders to try. Chain c rises to 110 - c bytes, of its
// first two steps, and ends with 1 + c. For trees the order of falling difference is the best
// (Liu 1987): here ascending c, and the last chain has the peak, 101 + 1 + 2 + ... + 9 bytes.
//
//  0 --> 10 --> ... --> 90 --v
//  1 --> 11 --> ... --> 91 --> 100
//  ...
//  9 --> 19 --> ... --> 99 --^
TEST(OrderSearch, FindsTheOrderOfJoiningChains) {
    OrderProblem problem;
    problem.step_count = 101;
    for (int32_t step = 0; step < 100; ++step) {
        const int32_t chain = step % 10;
        const int64_t size = step < 10 ? 100 - chain : step < 90 ? 10 : 1 + chain;
        problem.buffers.push_back({size, step, {std::min(step + 10, 100)}, false});
    }
    problem.buffers.push_back({1, 100, {}, true});
    const StepSequence result = order_for_smallest_peak(problem);
    expect_consistent(problem, result);
    EXPECT_EQ(result.peak_bytes, 146);
}

TEST(OrderSearch, TakesProblemsWithoutStepsOrBuffers) {
    EXPECT_TRUE(order_for_smallest_peak({}).is_optimal);
    OrderProblem problem;
    problem.step_count = 2;
    EXPECT_THAT(order_for_smallest_peak(problem).steps, ElementsAre(0, 1));
    problem.extra_edges = {{0, 1}};
    EXPECT_EQ(order_for_smallest_peak(problem).peak_bytes, 0);
}

}  // namespace
}  // namespace leat
