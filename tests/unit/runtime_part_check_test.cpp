// Results over inputs across edges that are waited for part by part: what may be, and its proof.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "base/split_mix.h"
#include "memory/memory_planner.h"
#include "memory/run_ahead.h"
#include "runtime/part_check.h"
#include "runtime/step_tasks.h"

namespace leat {
namespace {

using ::testing::HasSubstr;

constexpr int64_t kBytes = 512;
constexpr int64_t kParts = 4;

// Of any input and the result, tile t has bytes [64 t, 64 (t + 1)); of inputs `halo` bytes more
// each way.
class RowsKernel final : public HostKernel {
  public:
    explicit RowsKernel(int64_t halo) : halo_(halo) { tile_count = kBytes / 64; }
    Status run(const KernelArgs& /*args*/, int64_t /*begin*/, int64_t /*end*/) const override {
        return {};
    }
    ByteRange bytes_read(size_t /*input*/, int64_t begin, int64_t end) const override {
        return {std::max<int64_t>(begin * 64 - halo_, 0), end * 64 + halo_};
    }
    ByteRange bytes_written(int64_t begin, int64_t end) const override {
        return {begin * 64, end * 64};
    }

  private:
    int64_t halo_;
};

// Step s writes value s; all values have the same size.
class Steps {
  public:
    void add(const std::vector<int32_t>& reads, int64_t halo = 0, bool in_place = true) {
        const auto own = int32_t(tiled.size());
        kernels_.push_back(std::make_unique<RowsKernel>(halo));
        TiledStep step{kernels_.back().get(), 1000, {}};
        MemoryStep described;
        for (size_t i = 0; i < reads.size(); ++i) {
            step.operands.push_back({StepOperand::Kind::kInput, int32_t(i), reads[i], {0, kBytes}});
            described.reads.push_back(reads[i]);
            if (in_place) {
                described.in_place.push_back(reads[i]);
            }
        }
        step.operands.push_back({StepOperand::Kind::kOutput, 0, own, {0, kBytes}});
        described.writes.push_back(own);
        tiled.push_back(std::move(step));
        problem.steps.push_back(std::move(described));
        problem.values.push_back({kBytes, true, false});
        data_waits.push_back(reads);
        std::sort(data_waits.back().begin(), data_waits.back().end());
    }

    StepTasks tasks() const {
        StepTasks tasks(tiled);
        tasks.find_tile_waits(data_waits, kParts);
        return tasks;
    }

    std::vector<TiledStep> tiled;
    MemoryProblem problem;
    std::vector<std::vector<int32_t>> data_waits;

  private:
    std::vector<std::unique_ptr<HostKernel>> kernels_;
};

// What check_parts says of all steps in one window, with value v at addresses[v].
Status check_at(const Steps& steps, int32_t window, const std::vector<int64_t>& addresses) {
    const StepTasks tasks = steps.tasks();
    return check_parts(steps.tiled, tasks.make_program(whole_waits(tasks.inputs(), window)),
                       addresses);
}

// 0 --> 1 --> 2
TEST(PartCheck, TakesAChainInOneMemory) {
    Steps steps;
    steps.add({});
    steps.add({0});
    steps.add({1});
    EXPECT_TRUE(check_at(steps, kUnlimitedWindow, {0, 0, 0}).ok());
    EXPECT_TRUE(steps.tasks().ends_before_overwritten(0, 1, 0, {0, kBytes}));
}

// A part of step 1 reads a byte that the part beside it writes.
TEST(PartCheck, RefusesAHaloThatIsWrittenOver) {
    Steps steps;
    steps.add({});
    steps.add({0}, 1);
    steps.add({1});
    EXPECT_FALSE(steps.tasks().ends_before_overwritten(0, 1, 0, {0, kBytes}));
    EXPECT_TRUE(check_at(steps, kUnlimitedWindow, {0, kBytes, 2 * kBytes}).ok());
    // A part of step 2 waits for one of step 1, whose neighbours may yet read from step 0's bytes.
    const Status status = check_at(steps, kUnlimitedWindow, {0, kBytes, 0});
    EXPECT_FALSE(status.ok());
    EXPECT_THAT(status.message(), HasSubstr("step 1 reads"));
}

//  0 --> 1 --> 3      3 may not write over 0's result while parts of 2 read it.
//   \--> 2
TEST(PartCheck, RefusesToOverwriteWhatAnotherStepReads) {
    Steps steps;
    steps.add({});
    steps.add({0});
    steps.add({0});
    steps.add({1});
    EXPECT_FALSE(steps.tasks().ends_before_overwritten(2, 3, 0, {0, kBytes}));
    const Status status = check_at(steps, kUnlimitedWindow, {0, 512, 1024, 0});
    EXPECT_FALSE(status.ok());
    EXPECT_THAT(status.message(), HasSubstr("step 2 reads"));
    EXPECT_TRUE(check_at(steps, kUnlimitedWindow, {0, 512, 1024, 512}).ok());
}

//  0 --> 1 --> 2      2 reads what 1 reads, byte by byte behind it.
//   \---------^
TEST(PartCheck, TakesAReaderThatIsWaitedForByteByByte) {
    Steps steps;
    steps.add({});
    steps.add({0});
    steps.add({0, 1});
    const StepTasks tasks = steps.tasks();
    EXPECT_TRUE(tasks.ends_before_overwritten(0, 2, 0, {0, kBytes}));
    EXPECT_TRUE(tasks.ends_before_overwritten(1, 2, 0, {0, kBytes}));
    EXPECT_TRUE(check_at(steps, kUnlimitedWindow, {0, 512, 0}).ok());
    // Half a part further on, others than those that were waited for are still at work.
    EXPECT_FALSE(tasks.ends_before_overwritten(1, 2, 0, {64, kBytes + 64}));
    EXPECT_FALSE(check_at(steps, kUnlimitedWindow, {64, 1024, 0}).ok());
}

Steps random_steps(SplitMix& random) {
    Steps steps;
    const uint64_t count = 3 + random.below(10);
    for (uint64_t s = 0; s < count; ++s) {
        std::vector<int32_t> reads;
        for (uint64_t before = s < 5 ? 0 : s - 5; before < s; ++before) {
            if (random.below(3) == 0) {
                reads.push_back(int32_t(before));
            }
        }
        steps.add(reads, random.below(4) == 0 ? 32 : 0, random.below(4) != 0);
        steps.problem.values.back().is_kept = random.below(8) == 0;
    }
    return steps;
}

// By position of the planner's order.
std::vector<TiledStep> ordered(const Steps& steps, const MemoryPlanner& planner) {
    std::vector<TiledStep> tiled;
    tiled.reserve(planner.order().size());
    for (const int32_t index : planner.order()) {
        tiled.push_back(steps.tiled[size_t(index)]);
    }
    return tiled;
}

// Values that lie over another.
int64_t overwriting(const MemoryLayout& layout) {
    int64_t count = 0;
    for (size_t value = 0; value < layout.places.size(); ++value) {
        count += int64_t(layout.places[value].root != int32_t(value));
    }
    return count;
}

TEST(PartCheck, ProvesEveryLayoutOfRandomStepsInEveryWindow) {
    int64_t more = 0;
    for (uint64_t seed = 0; seed < 500; ++seed) {
        SplitMix random(seed);
        const Steps steps = random_steps(random);
        const MemoryPlanner planner(steps.problem);
        StepTasks tasks(ordered(steps, planner));
        tasks.find_tile_waits(planner.data_waits(), kParts);
        const auto ends_first = [&](int32_t user, int32_t writer, int32_t input) {
            return tasks.ends_before_overwritten(user, writer, input, {0, kBytes});
        };
        for (const int32_t window : {1, 2, kUnlimitedWindow}) {
            const auto whole = whole_waits(tasks.inputs(), window);
            const Result<MemoryLayout> layout = planner.lay_out(whole, ends_first);
            ASSERT_TRUE(layout.ok()) << layout.error().message();
            std::vector<int64_t> addresses;
            for (const ValuePlace& place : layout->places) {
                addresses.push_back(layout->plan.offsets[size_t(place.buffer)] +
                                    place.offset_bytes);
            }
            const Status status = check_parts(tasks.steps(), tasks.make_program(whole), addresses);
            ASSERT_TRUE(status.ok())
                << "seed " << seed << ", window " << window << ": " << status.message();
            const auto never = [](int32_t, int32_t, int32_t) { return false; };
            more += overwriting(*layout) - overwriting(*planner.lay_out(whole, never));
        }
    }
    EXPECT_GT(more, 1000);
}

}  // namespace
}  // namespace leat
