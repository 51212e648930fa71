#include "memory/memory_planner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <numeric>

#include "base/split_mix.h"

namespace leat {
namespace {

using ::testing::ElementsAre;

constexpr RunAhead kAll[] = {RunAhead::kUnlimited, RunAhead{3}, RunAhead{2}, RunAhead::kSerial,
                             RunAhead::kOneWorker};

MemoryLayout laid_out(const MemoryPlanner& planner, RunAhead run_ahead) {
    Result<MemoryLayout> layout = planner.lay_out({.run_ahead = run_ahead});
    EXPECT_TRUE(layout.ok()) << layout.error().message();
    return layout.ok() ? std::move(layout).value() : MemoryLayout();
}

// Values of one size each, 64 bytes by default.
MemoryProblem problem_of(int values, std::vector<MemoryStep> steps, int64_t bytes = 64) {
    MemoryProblem problem;
    problem.values.resize(size_t(values), {bytes, true, false});
    problem.steps = std::move(steps);
    return problem;
}

// 0 -> f -> 1 -> g -> 2, where 0 is a graph input and 2 an output
TEST(MemoryPlanner, WritesOverWhatNobodyNeeds) {
    MemoryProblem problem = problem_of(3, {{{0}, {1}, {0}, {}}, {{1}, {2}, {1}, {}}});
    problem.values[0].is_placed = false;
    problem.values[2].is_kept = true;
    const MemoryPlanner planner(problem);
    for (const RunAhead run_ahead : kAll) {
        const MemoryLayout layout = laid_out(planner, run_ahead);
        EXPECT_EQ(layout.plan.height_bytes, 64);
        EXPECT_EQ(layout.places[0].buffer, -1);
        EXPECT_EQ(layout.places[2].buffer, layout.places[1].buffer);
    }
}

// 1 = f(), 2 = relu(1), 3 = g(1), 4 = h(2, 3): on one worker relu may come last, on several it may
// not write over what g reads.
TEST(MemoryPlanner, WritesOverNothingThatAnotherStepMayStillRead) {
    const MemoryProblem problem = problem_of(
        5, {{{}, {1}, {}, {}}, {{1}, {3}, {}, {}}, {{1}, {2}, {1}, {}}, {{2, 3}, {4}, {}, {}}});
    const MemoryPlanner planner(problem);
    EXPECT_EQ(laid_out(planner, RunAhead::kSerial).plan.height_bytes, 3 * 64);
    const MemoryLayout parallel = laid_out(planner, RunAhead::kUnlimited);
    EXPECT_NE(parallel.places[1].root, parallel.places[2].root);
    EXPECT_EQ(parallel.added_waits, 0);
}

// 0 = f(), 1 = part(0) with 2 and then 3 inside, 4 = g(1). What the part reads is over after its
// first inner step, and its result begins in the last one.
TEST(MemoryPlanner, LetsOperandsOfAStepShareBytesWithWhatItHasInside) {
    auto inside = std::make_shared<InnerSteps>();
    inside->waits = {{}, {0}, {1}};
    using Side = InnerSteps::Side;
    inside->uses = {{0, Side::kRead, {0}},
                    {1, Side::kWritten, {2}},
                    {2, Side::kInside, {0, 1}},
                    {3, Side::kInside, {1, 2}}};
    MemoryProblem problem =
        problem_of(5, {{{}, {0}, {}, {}}, {{0}, {1, 2, 3}, {}, {}}, {{1}, {4}, {}, {}}});
    problem.steps[1].inside = inside;
    const MemoryPlanner planner(problem);
    EXPECT_EQ(planner.peak_bytes(), 2 * 64);
    EXPECT_EQ(planner.least_bytes(), 2 * 64);
    EXPECT_EQ(planner.moments().count(), 7);
    for (const RunAhead run_ahead : kAll) {
        const MemoryLayout layout = laid_out(planner, run_ahead);
        EXPECT_EQ(layout.plan.height_bytes, 2 * 64);
        EXPECT_EQ(layout.waits->size(), 3U);
    }
    // Without that the part has all four at a time.
    problem.steps[1].inside = nullptr;
    EXPECT_EQ(laid_out(MemoryPlanner(problem), RunAhead::kSerial).plan.height_bytes, 4 * 64);
}

// Two parts that nothing orders have nothing in common, wherever they are inside.
TEST(MemoryPlanner, RelyOnNoOrderOfWhatPartsDoInside) {
    const auto part = [](int32_t input, int32_t output, int32_t inner) {
        auto inside = std::make_shared<InnerSteps>();
        inside->waits = {{}, {0}};
        inside->uses = {{input, InnerSteps::Side::kRead, {0}},
                        {output, InnerSteps::Side::kWritten, {1}},
                        {inner, InnerSteps::Side::kInside, {0, 1}}};
        MemoryStep step{{input}, {output, inner}, {}, {}};
        step.inside = std::move(inside);
        return step;
    };
    const MemoryPlanner planner(
        problem_of(7, {{{}, {0}, {}, {}}, part(0, 1, 2), part(0, 3, 4), {{1, 3}, {5}, {}, {}}}));
    // The input lives on while either part may run, and each has 2 values of its own.
    EXPECT_EQ(laid_out(planner, RunAhead::kUnlimited).plan.height_bytes, 5 * 64);
    EXPECT_LT(laid_out(planner, RunAhead::kSerial).plan.height_bytes, 5 * 64);
}

TEST(MemoryPlanner, NeverWritesOverAnOutput) {
    MemoryProblem problem = problem_of(2, {{{}, {0}, {}, {}}, {{0}, {1}, {0}, {}}});
    problem.values[0].is_kept = true;
    problem.values[1].is_kept = true;
    EXPECT_EQ(laid_out(MemoryPlanner(problem), RunAhead::kSerial).plan.height_bytes, 128);
}

// mul(x, x) reads its input twice.
TEST(MemoryPlanner, DoesNotWriteOverAnInputThatIsReadTwice) {
    const MemoryProblem problem = problem_of(2, {{{}, {0}, {}, {}}, {{0, 0}, {1}, {0}, {}}});
    EXPECT_EQ(laid_out(MemoryPlanner(problem), RunAhead::kSerial).plan.height_bytes, 128);
}

// 2 = concat(0, 1)
TEST(MemoryPlanner, PutsPartsWhereTheirConcatenationIs) {
    MemoryProblem problem = problem_of(
        3, {{{}, {0}, {}, {}}, {{}, {1}, {}, {}}, {{0, 1}, {2}, {}, {{0, 2, 0}, {1, 2, 64}}}});
    problem.values[2] = {128, true, true};
    const MemoryPlanner planner(problem);
    EXPECT_EQ(planner.order().size(), 2U);
    const MemoryLayout layout = laid_out(planner, RunAhead::kUnlimited);
    EXPECT_EQ(layout.plan.height_bytes, 128);
    EXPECT_EQ(layout.places[0].root, 2);
    EXPECT_EQ(layout.places[1].offset_bytes, 64);
    EXPECT_EQ(layout.added_waits, 0);
}

TEST(MemoryPlanner, CopiesPartsThatCannotBeAtTwoPlaces) {
    MemoryProblem problem =
        problem_of(2, {{{}, {0}, {}, {}}, {{0, 0}, {1}, {}, {{0, 1, 0}, {0, 1, 64}}}});
    problem.values[1] = {128, true, true};
    EXPECT_EQ(MemoryPlanner(problem).order().size(), 2U);
}

TEST(MemoryPlanner, CopiesPartsThatWouldNotBeAligned) {
    MemoryProblem problem = problem_of(
        3, {{{}, {0}, {}, {}}, {{}, {1}, {}, {}}, {{0, 1}, {2}, {}, {{0, 2, 0}, {1, 2, 40}}}});
    problem.values[0].size_bytes = 40;
    problem.values[2] = {104, true, true};
    EXPECT_EQ(MemoryPlanner(problem).order().size(), 3U);
}

TEST(MemoryPlanner, CopiesOutOfGraphInputsIntoAConcatenation) {
    MemoryProblem problem =
        problem_of(3, {{{}, {0}, {}, {}}, {{0, 1}, {2}, {}, {{0, 2, 0}, {1, 2, 64}}}});
    problem.values[1].is_placed = false;
    problem.values[2] = {128, true, true};
    EXPECT_EQ(MemoryPlanner(problem).order().size(), 2U);
}

// 0 is an input; 1 and 2 are its halves.
TEST(MemoryPlanner, LetsSlicesOfAnInputLieInIt) {
    MemoryProblem problem = problem_of(
        4, {{{0}, {1}, {}, {{1, 0, 0}}}, {{0}, {2}, {}, {{2, 0, 64}}}, {{2}, {3}, {2}, {}}});
    problem.values[0] = {128, false, false};
    const MemoryPlanner planner(problem);
    EXPECT_EQ(planner.order().size(), 1U);
    const MemoryLayout layout = laid_out(planner, RunAhead::kUnlimited);
    EXPECT_EQ(layout.places[2].root, 0);
    EXPECT_EQ(layout.places[2].offset_bytes, 64);
    EXPECT_EQ(layout.places[2].buffer, -1);
    EXPECT_EQ(layout.plan.height_bytes, 64);  // 3 is not written over the caller's memory
}

// A slice of 64 bytes of a value of 1,024 that would live as long as the slice: a copy is cheaper.
TEST(MemoryPlanner, CopiesASliceThatWouldKeepALargeValueAlive) {
    MemoryProblem problem = problem_of(
        4,
        {{{}, {0}, {}, {}}, {{0}, {1}, {}, {{1, 0, 0}}}, {{}, {2}, {}, {}}, {{1, 2}, {3}, {}, {}}});
    problem.values[0].size_bytes = 1024;
    problem.values[2].size_bytes = 1024;
    const MemoryPlanner planner(problem);
    EXPECT_EQ(planner.order().size(), 4U);
    EXPECT_EQ(laid_out(planner, RunAhead::kSerial).plan.height_bytes, 1024 + 128);
}

// Two branches with large values inside and small ends: one after the other on one worker.
TEST(MemoryPlanner, SavesBytesWhereStepsMayNotOverlap) {
    MemoryProblem problem = problem_of(5, {{{}, {0}, {}, {}},
                                           {{}, {1}, {}, {}},
                                           {{0}, {2}, {}, {}},
                                           {{1}, {3}, {}, {}},
                                           {{2, 3}, {4}, {}, {}}});
    problem.values[0].size_bytes = 1024;
    problem.values[1].size_bytes = 1024;
    const MemoryPlanner planner(problem);
    EXPECT_THAT(planner.order(), ElementsAre(0, 2, 1, 3, 4));
    EXPECT_EQ(planner.peak_bytes(), 1024 + 128);
    const MemoryLayout serial = laid_out(planner, RunAhead::kSerial);
    EXPECT_EQ(serial.plan.height_bytes, 1024 + 128);
    EXPECT_GT(serial.added_waits, 0);
    const MemoryLayout parallel = laid_out(planner, RunAhead::kUnlimited);
    EXPECT_EQ(parallel.plan.height_bytes, 2048 + 128);
    EXPECT_EQ(parallel.added_waits, 0);
}

TEST(MemoryPlanner, OrdersStepsByValuesThatTakeNoPlace) {
    MemoryProblem problem = problem_of(1, {{{}, {0}, {}, {}}, {{0}, {}, {}, {}}});
    problem.values[0] = {1, false, false};
    const MemoryLayout layout = laid_out(MemoryPlanner(problem), RunAhead::kUnlimited);
    EXPECT_THAT((*layout.waits)[1], ElementsAre(0));
}

// What an execution of a layout does to each byte: runs steps at the same time as far as the waits
// allow, and checks that every step sees what it should from its begin to its end.
class ByteMachine {
  public:
    ByteMachine(const MemoryProblem& problem,
                const MemoryPlanner& planner,
                const MemoryLayout& layout)
        : problem_(problem),
          order_(planner.order()),
          layout_(layout),
          contents_(problem.values.size()),
          arena_(size_t(layout.plan.height_bytes), -1) {
        int next = 0;
        for (size_t value = 0; value < problem.values.size(); ++value) {
            contents_[value].resize(size_t(problem.values[value].size_bytes));
            std::iota(contents_[value].begin(), contents_[value].end(), next);
            next += int(problem.values[value].size_bytes);
        }
        // What a copy or a view contains is what it was made of, which is older.
        std::vector<std::pair<int32_t, ValueView>> copies;
        for (const ValueView& view : problem.views) {
            copies.emplace_back(view.part, view);
        }
        for (const MemoryStep& step : problem.steps) {
            for (const ValueView& view : step.views) {
                copies.emplace_back(step.writes[0], view);
            }
        }
        std::stable_sort(copies.begin(), copies.end(),
                         [](const auto& a, const auto& b) { return a.first < b.first; });
        for (const auto& [made, view] : copies) {
            made == view.part ? equate(view) : equate_whole(view);
        }
    }

    // False: some step saw other bytes.
    bool run(uint64_t seed) {
        SplitMix random(seed);
        std::vector<int> state(order_.size(), 0);  // 0 waits, 1 runs, 2 done
        for (size_t left = 2 * order_.size(); left > 0; --left) {
            std::vector<size_t> possible;
            const StepWaits& waits = *layout_.waits;
            for (size_t position = 0; position < order_.size(); ++position) {
                const bool is_ready =
                    std::all_of(waits[position].begin(), waits[position].end(),
                                [&](int32_t before) { return state[size_t(before)] == 2; });
                if (state[position] == 1 || (state[position] == 0 && is_ready)) {
                    possible.push_back(position);
                }
            }
            const size_t position = possible[random.next() % possible.size()];
            ++state[position];
            const MemoryStep& step = problem_.steps[size_t(order_[position])];
            if (!(state[position] == 1 ? begin(step) : end(step))) {
                return false;
            }
        }
        return std::all_of(problem_.values.begin(), problem_.values.end(), [&](const auto& value) {
            const auto number = int32_t(&value - problem_.values.data());
            return !value.is_kept || !is_written(number) || holds(number);
        });
    }

  private:
    void equate(const ValueView& view) {
        const auto from = contents_[size_t(view.whole)].begin() + view.offset_bytes;
        std::copy_n(from, contents_[size_t(view.part)].size(),
                    contents_[size_t(view.part)].begin());
    }
    void equate_whole(const ValueView& view) {
        std::copy(contents_[size_t(view.part)].begin(), contents_[size_t(view.part)].end(),
                  contents_[size_t(view.whole)].begin() + view.offset_bytes);
    }
    int64_t address(int32_t value) const {
        const ValuePlace& place = layout_.places[size_t(value)];
        return place.buffer < 0 ? -1
                                : layout_.plan.offsets[size_t(place.buffer)] + place.offset_bytes;
    }
    bool is_written(int32_t value) const { return address(value) >= 0; }
    bool holds(int32_t value) const {
        return address(value) < 0 ||
               std::equal(contents_[size_t(value)].begin(), contents_[size_t(value)].end(),
                          arena_.begin() + address(value));
    }
    bool begin(const MemoryStep& step) {
        const bool is_right = all_hold(step.reads);
        for (const int32_t value : step.writes) {
            if (address(value) >= 0 && !is_over_an_input(step, value)) {
                std::fill_n(arena_.begin() + address(value), contents_[size_t(value)].size(), -2);
            }
        }
        return is_right;
    }
    bool end(const MemoryStep& step) {
        const bool is_right = all_hold(step.reads);
        for (const int32_t value : step.writes) {
            if (address(value) >= 0) {
                std::copy(contents_[size_t(value)].begin(), contents_[size_t(value)].end(),
                          arena_.begin() + address(value));
            }
        }
        return is_right;
    }
    bool is_over_an_input(const MemoryStep& step, int32_t value) const {
        return std::any_of(step.in_place.begin(), step.in_place.end(), [&](int32_t input) {
            return value == step.writes[0] && address(input) == address(value);
        });
    }
    bool all_hold(std::span<const int32_t> values) const {
        return std::all_of(values.begin(), values.end(),
                           [this](int32_t value) { return holds(value); });
    }

    const MemoryProblem& problem_;
    const std::vector<int32_t>& order_;
    const MemoryLayout& layout_;
    std::vector<std::vector<int>> contents_;  // by value: what each byte should be
    std::vector<int> arena_;
};

// Steps that read up to three earlier values and write one or two; some in place, some views,
// slices and concatenations. Bytes are counted in units of 4, to which everything is aligned.
class ProblemMaker {
  public:
    explicit ProblemMaker(uint64_t seed) : random_(seed) { problem_.alignment_bytes = 4; }

    MemoryProblem make() {
        add_value(8).is_placed = false;
        add_value(16).is_placed = false;
        const int steps = 3 + below(12);
        for (int step = 0; step < steps; ++step) {
            add_step();
        }
        for (MemoryValue& value : problem_.values) {
            value.is_kept = value.is_placed && below(8) == 0;
        }
        return problem_;
    }

  private:
    int below(int bound) { return int(random_.next() % uint64_t(bound)); }
    int64_t some_bytes() { return 4 * (1 + int64_t(below(8))); }
    int32_t any_value() { return int32_t(below(int(problem_.values.size()))); }
    int64_t bytes_of(int32_t value) const { return problem_.values[size_t(value)].size_bytes; }
    MemoryValue& add_value(int64_t bytes) {
        problem_.values.push_back({bytes, true, false});
        return problem_.values.back();
    }
    int32_t newest() const { return int32_t(problem_.values.size()) - 1; }

    void add_step() {
        switch (below(5)) {
            case 0: {  // reshape
                const int32_t value = any_value();
                add_value(bytes_of(value));
                problem_.views.push_back({newest(), value, 0});
                break;
            }
            case 1: {  // slice
                const int32_t whole = any_value();
                const int64_t units = bytes_of(whole) / 4;
                const int64_t begin = below(int(units));
                add_value(4 * (1 + int64_t(below(int(units - begin)))));
                problem_.steps.push_back({{whole}, {newest()}, {}, {{newest(), whole, 4 * begin}}});
                break;
            }
            case 2: {  // concatenation
                const int32_t a = any_value();
                const int32_t b = any_value();
                add_value(bytes_of(a) + bytes_of(b));
                problem_.steps.push_back(
                    {{a, b}, {newest()}, {}, {{a, newest(), 0}, {b, newest(), bytes_of(a)}}});
                break;
            }
            default:
                add_operator();
        }
    }
    void add_operator() {
        MemoryStep step;
        const int reads = 1 + below(3);
        for (int i = 0; i < reads; ++i) {
            step.reads.push_back(any_value());
        }
        add_value(below(2) == 0 ? bytes_of(step.reads[0]) : some_bytes());
        step.writes.push_back(newest());
        for (const int32_t input : step.reads) {
            if (bytes_of(input) == bytes_of(newest()) && below(3) > 0) {
                step.in_place.push_back(input);
            }
        }
        if (below(4) == 0) {
            add_value(some_bytes());
            step.writes.push_back(newest());
        }
        problem_.steps.push_back(std::move(step));
    }

    SplitMix random_;
    MemoryProblem problem_;
};

TEST(MemoryPlanner, KeepsEveryByteUntilItsLastReaderHasEnded) {
    int64_t with_views = 0;
    int64_t in_place = 0;
    for (uint64_t seed = 0; seed < 1'500; ++seed) {
        const MemoryProblem problem = ProblemMaker(seed).make();
        const MemoryPlanner planner(problem);
        with_views += int64_t(planner.order().size() < problem.steps.size());
        for (const RunAhead run_ahead : kAll) {
            const MemoryLayout layout = laid_out(planner, run_ahead);
            in_place += int64_t(layout.buffers.size() < problem.values.size() / 2);
            for (uint64_t turn = 0; turn < 4; ++turn) {
                ASSERT_TRUE(ByteMachine(problem, planner, layout).run(turn))
                    << "seed " << seed << ", run ahead " << int(run_ahead);
            }
        }
    }
    EXPECT_GT(with_views, 300);
    EXPECT_GT(in_place, 300);
}

TEST(MemoryPlanner, ALimitIsSearchedForAndChangesNothingElse) {
    int64_t above_bound = 0;
    for (uint64_t seed = 0; seed < 300; ++seed) {
        const MemoryProblem problem = ProblemMaker(seed).make();
        const MemoryPlanner planner(problem);
        const MemoryLayout layout = laid_out(planner, RunAhead::kUnlimited);
        const MemoryPlan& plan = layout.plan;
        above_bound += int64_t(!plan.is_optimal());
        const Result<MemoryLayout> within = planner.lay_out({.limit_bytes = plan.height_bytes - 1});
        ASSERT_TRUE(within.ok());
        EXPECT_LE(within->plan.height_bytes, plan.height_bytes) << "seed " << seed;
        EXPECT_TRUE(!plan.is_optimal() || within->plan.height_bytes == plan.height_bytes);
        EXPECT_EQ(*within->waits, *layout.waits);
        ASSERT_TRUE(ByteMachine(problem, planner, *within).run(seed)) << "seed " << seed;
    }
    RecordProperty("above_bound", int(above_bound));
}

// The same problem for a batch: sizes that are padded to the alignment by more or less.
MemoryProblem for_batch(MemoryProblem problem, int64_t batch) {
    const auto scale = [batch](ValueView& view) { view.offset_bytes *= batch; };
    for (MemoryValue& value : problem.values) {
        value.size_bytes *= batch;
    }
    std::for_each(problem.views.begin(), problem.views.end(), scale);
    for (MemoryStep& step : problem.steps) {
        std::for_each(step.views.begin(), step.views.end(), scale);
    }
    problem.alignment_bytes = 16;
    return problem;
}

// What is laid out again with what a former layout had, all of it or the arrangement alone.
void expect_same_with_all_of(const MemoryLayout& former,
                             const MemoryPlanner& planner,
                             RunAhead run_ahead) {
    MemoryLayout arrangement = former;
    arrangement.known_waits.clear();
    arrangement.proof = nullptr;
    arrangement.places[0].root = -1;
    const Result<MemoryLayout> again = planner.lay_out({.run_ahead = run_ahead, .former = &former});
    const Result<MemoryLayout> expected =
        planner.lay_out({.run_ahead = run_ahead, .former = &arrangement});
    ASSERT_TRUE(again.ok() && expected.ok());
    EXPECT_EQ(again->plan.offsets, expected->plan.offsets);
    EXPECT_EQ(*again->waits, *expected->waits);
    EXPECT_EQ(again->added_waits, expected->added_waits);
    ASSERT_EQ(again->buffers.size(), expected->buffers.size());
    for (size_t i = 0; i < again->buffers.size(); ++i) {
        EXPECT_EQ(again->buffers[i].users, expected->buffers[i].users);
        EXPECT_EQ(again->buffers[i].size_bytes, expected->buffers[i].size_bytes);
        EXPECT_EQ(again->buffers[i].is_kept, expected->buffers[i].is_kept);
    }
    for (size_t i = 0; i < again->places.size(); ++i) {
        EXPECT_EQ(again->places[i].root, expected->places[i].root);
        EXPECT_EQ(again->places[i].buffer, expected->places[i].buffer);
        EXPECT_EQ(again->places[i].offset_bytes, expected->places[i].offset_bytes);
    }
}

struct TakenWaits {
    int64_t same = 0;
    int64_t other = 0;
};

// Batches one after the other, each laid out from the one before.
void lay_out_batches(const MemoryProblem& problem,
                     RunAhead run_ahead,
                     SplitMix& random,
                     TakenWaits& taken) {
    auto planner = std::make_unique<const MemoryPlanner>(for_batch(problem, 1));
    MemoryLayout former = laid_out(*planner, run_ahead);
    for (int turn = 0; turn < 6; ++turn) {
        const MemoryProblem next = for_batch(problem, 1 + int64_t(random.below(9)));
        auto again = std::make_unique<const MemoryPlanner>(next, *planner);
        if (!again->has_order_of(*planner)) {
            return;
        }
        expect_same_with_all_of(former, *again, run_ahead);
        MemoryLayout layout = *again->lay_out({.run_ahead = run_ahead, .former = &former});
        EXPECT_TRUE(ByteMachine(next, *again, layout).run(random.next()));
        taken.same += int64_t(layout.waits == former.waits);
        taken.other += int64_t(*layout.waits != *former.waits);
        planner = std::move(again);
        former = std::move(layout);
    }
}

TEST(MemoryPlanner, TakesOverFromAFormerLayoutWhatItWouldFind) {
    TakenWaits taken;
    for (uint64_t seed = 0; seed < 300; ++seed) {
        SCOPED_TRACE(seed);
        SplitMix random(seed);
        const MemoryProblem problem = ProblemMaker(seed).make();
        for (const RunAhead run_ahead : kAll) {
            lay_out_batches(problem, run_ahead, random, taken);
        }
    }
    EXPECT_GT(taken.same, 500);
    EXPECT_GT(taken.other, 20);
}

// 0 -> f -> 1 -> g -> 2, 3 = h(), 4 = concatenation of 2 and 3, 5 = k(4): what has no bytes in the
// first plan has some in the next one, which takes its order over.
TEST(MemoryPlanner, WaitsForWhatHadNoBytesInTheFormerPlan) {
    const auto with_sizes = [](const std::vector<int64_t>& bytes) {
        MemoryProblem problem = problem_of(6, {{{0}, {1}, {}, {}},
                                               {{1}, {2}, {}, {}},
                                               {{}, {3}, {}, {}},
                                               {{2, 3}, {4}, {}, {{2, 4, 0}, {3, 4, bytes[2]}}},
                                               {{4}, {5}, {}, {}}});
        for (size_t value = 0; value < bytes.size(); ++value) {
            problem.values[value].size_bytes = bytes[value];
        }
        return problem;
    };
    const std::vector<int64_t> some = {64, 64, 64, 64, 128, 64};
    const std::vector<std::vector<int64_t>> former = {
        {0, 0, 0, 0, 0, 0}, {64, 0, 0, 64, 64, 64}, {64, 64, 64, 0, 64, 64}, some};
    for (const std::vector<int64_t>& before : former) {
        const MemoryPlanner first(with_sizes(before));
        const MemoryPlanner again(with_sizes(some), first);
        for (const RunAhead run_ahead : kAll) {
            const MemoryLayout layout = *again.lay_out({.run_ahead = run_ahead});
            const StepOrder order(*layout.waits);
            std::vector<int32_t> position(5, -1);  // by step; -1: it became a view
            for (size_t i = 0; i < again.order().size(); ++i) {
                position[size_t(again.order()[i])] = int32_t(i);
            }
            if (run_ahead == RunAhead::kOneWorker) {
                continue;  // whose order is enough
            }
            EXPECT_TRUE(order.precedes(position[0], position[1]));
            EXPECT_TRUE(order.precedes(position[1], position[4]));
            EXPECT_TRUE(order.precedes(position[2], position[4]));
        }
    }
}

TEST(MemoryPlanner, AsksForNoWaitBeyondTheDataWithoutALimit) {
    for (uint64_t seed = 0; seed < 500; ++seed) {
        const MemoryProblem problem = ProblemMaker(seed).make();
        const MemoryPlanner planner(problem);
        EXPECT_EQ(laid_out(planner, RunAhead::kUnlimited).added_waits, 0) << seed;
        EXPECT_GE(laid_out(planner, RunAhead::kSerial).plan.height_bytes, planner.least_bytes());
    }
}

}  // namespace
}  // namespace leat
