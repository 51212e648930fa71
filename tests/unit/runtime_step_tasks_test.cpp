// The order of tasks whose tiles wait for tiles, against all paths through the program's edges.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <random>
#include <utility>
#include <vector>

#include "memory/step_order.h"
#include "runtime/step_tasks.h"

namespace leat {
namespace {

using Lists = std::vector<std::vector<int32_t>>;

// Tile t reads and writes bytes [t * each, (t + 1) * each), and reads `halo` bytes more each way.
class RowsKernel final : public HostKernel {
  public:
    RowsKernel(int64_t tiles, int64_t each, int64_t halo, int64_t columns = 1)
        : each_(each), halo_(halo) {
        tile_count = tiles * columns;
        tile_columns = columns;
    }
    Status run(const KernelArgs& /*args*/, int64_t /*begin*/, int64_t /*end*/) const override {
        return {};
    }
    ByteRange bytes_read(size_t input, int64_t begin, int64_t end) const override {
        return input > 0
                   ? kAllBytes
                   : ByteRange{std::max<int64_t>(begin * each_ - halo_, 0), end * each_ + halo_};
    }
    ByteRange bytes_written(int64_t begin, int64_t end) const override {
        return {begin * each_, end * each_};
    }

  private:
    int64_t each_;
    int64_t halo_;
};

// Steps in a row of memory each, with what they read.
struct Steps {
    std::vector<std::unique_ptr<HostKernel>> kernels;
    std::vector<TiledStep> tiled;
    Lists data_waits;

    void add(std::unique_ptr<HostKernel> kernel, int64_t bytes, const std::vector<int32_t>& from) {
        const auto own = int32_t(tiled.size());
        TiledStep step{kernel.get(), 1000, {}};
        for (size_t i = 0; i < from.size(); ++i) {
            const ByteRange all = tiled[size_t(from[i])].operands.back().bytes;
            step.operands.push_back({StepOperand::Kind::kInput, int32_t(i), from[i], all});
        }
        step.operands.push_back({StepOperand::Kind::kOutput, 0, own, {0, bytes}});
        data_waits.push_back(from);
        kernels.push_back(std::move(kernel));
        tiled.push_back(std::move(step));
    }
};

// [before][after], of tasks.
std::vector<std::vector<bool>> order_of(const scheduler::TaskDag& dag) {
    const auto count = size_t(dag.task_count());
    std::vector<std::vector<bool>> order(count, std::vector<bool>(count, false));
    for (const scheduler::TaskDag::Edge& edge : dag.edges()) {
        order[size_t(edge.before)][size_t(edge.after)] = true;
    }
    for (size_t via = 0; via < count; ++via) {
        for (size_t before = 0; before < count; ++before) {
            for (size_t after = 0; order[before][via] && after < count; ++after) {
                order[before][after] = order[before][after] || order[via][after];
            }
        }
    }
    return order;
}

std::pair<int64_t, int64_t> tiles_of(const StepTask& task, const HostKernel& kernel) {
    if (task.kind == StepTask::Kind::kWhole) {
        return {0, kernel.column_tiles()};
    }
    return {task.tile_begin, task.tile_end};
}

// Every task that runs tiles waits for those that write what it reads, and, across whole waits, for
// all of the step.
void check_order(const Steps& steps, const StepTasks::Program& program, const Lists& whole) {
    const auto order = order_of(program.dag);
    const StepOrder proved(whole);
    for (size_t a = 0; a < program.tasks.size(); ++a) {
        for (size_t b = 0; b < program.tasks.size(); ++b) {
            const StepTask& before = program.tasks[a];
            const StepTask& after = program.tasks[b];
            if (before.kind == StepTask::Kind::kJoint || after.kind == StepTask::Kind::kJoint) {
                continue;
            }
            bool is_needed = proved.precedes(before.step, after.step);
            const HostKernel& reader = *steps.kernels[size_t(after.step)];
            const HostKernel& writer = *steps.kernels[size_t(before.step)];
            const std::vector<int32_t>& from = steps.data_waits[size_t(after.step)];
            for (size_t i = 0; i < from.size(); ++i) {
                const auto [read_begin, read_end] = tiles_of(after, reader);
                const auto [begin, end] = tiles_of(before, writer);
                is_needed = is_needed || (from[i] == before.step &&
                                          reader.bytes_read(i, read_begin, read_end)
                                              .meets(writer.bytes_written(begin, end)));
            }
            if (is_needed) {
                ASSERT_TRUE(order[a][b])
                    << "step " << before.step << " from tile " << before.tile_begin << ", step "
                    << after.step << " from tile " << after.tile_begin;
            }
        }
    }
}

// Each tile of every step is run by one task.
void check_tiles(const Steps& steps, const StepTasks::Program& program) {
    std::vector<int64_t> next(steps.tiled.size(), 0);
    for (const StepTask& task : program.tasks) {
        if (task.kind != StepTask::Kind::kJoint) {
            const auto [begin, end] = tiles_of(task, *steps.kernels[size_t(task.step)]);
            EXPECT_EQ(begin, next[size_t(task.step)]);
            EXPECT_LT(begin, end);
            next[size_t(task.step)] = end;
        }
    }
    for (size_t step = 0; step < next.size(); ++step) {
        const HostKernel& kernel = *steps.kernels[step];
        EXPECT_EQ(next[step], kernel.column_tiles());
    }
}

TEST(StepTasks, PartsWaitForThePartsTheyRead) {
    Steps steps;
    steps.add(std::make_unique<RowsKernel>(8, 100, 0), 800, {});
    steps.add(std::make_unique<RowsKernel>(4, 200, 0), 800, {0});
    StepTasks tasks(steps.tiled);
    tasks.find_tile_waits(steps.data_waits, 4);
    EXPECT_FALSE(tasks.inputs()[1][0].is_whole);
    const StepTasks::Program program = tasks.make_program(Lists(2));
    EXPECT_EQ(program.tile_waits, 1);
    ASSERT_EQ(program.dag.task_count(), 8);
    const auto order = order_of(program.dag);
    for (size_t before = 0; before < 4; ++before) {
        for (size_t after = 4; after < 8; ++after) {
            EXPECT_EQ(order[before][after], after == before + 4);
        }
    }
}

TEST(StepTasks, WhatHasOneTileOrReadsEverythingWaitsForTheWhole) {
    Steps steps;
    steps.add(std::make_unique<RowsKernel>(8, 100, 0), 800, {});
    steps.add(std::make_unique<RowsKernel>(1, 800, 0), 800, {0});
    steps.add(std::make_unique<RowsKernel>(8, 100, 800), 800, {0});
    StepTasks tasks(steps.tiled);
    tasks.find_tile_waits(steps.data_waits, 4);
    EXPECT_TRUE(tasks.inputs()[1][0].is_whole);
    EXPECT_TRUE(tasks.inputs()[2][0].is_whole);
    const StepTasks::Program program = tasks.make_program(Lists{{}, {0}, {0}});
    EXPECT_EQ(program.tile_waits, 0);
    // Nothing is cut where nothing is gained.
    EXPECT_EQ(program.dag.task_count(), 3);
}

// A halo of a byte makes neighbours wait, and columns of tiles are those of one part.
TEST(StepTasks, ColumnsOfTilesStayTogether) {
    Steps steps;
    steps.add(std::make_unique<RowsKernel>(4, 100, 0, 3), 400, {});
    steps.add(std::make_unique<RowsKernel>(4, 100, 1, 2), 400, {0});
    StepTasks tasks(steps.tiled);
    tasks.find_tile_waits(steps.data_waits, 4);
    const StepTasks::Program program = tasks.make_program(Lists(2));
    ASSERT_EQ(program.dag.task_count(), 8);
    const auto order = order_of(program.dag);
    EXPECT_TRUE(order[0][4] && order[1][4]);
    EXPECT_FALSE(order[2][4] || order[3][4]);
    check_tiles(steps, program);
}

Steps random_steps(std::mt19937& random) {
    const auto below = [&random](int64_t bound) { return int64_t(random() % uint64_t(bound)); };
    Steps steps;
    const int64_t count = 2 + below(10);
    for (int64_t step = 0; step < count; ++step) {
        std::vector<int32_t> from;
        for (int32_t before = 0; before < int32_t(step); ++before) {
            if (below(step) < 2) {
                from.push_back(before);
            }
        }
        // Of the first input only it is known what is read.
        const int64_t tiles = 1 + below(20);
        const int64_t halo = below(3) * 50;
        steps.add(std::make_unique<RowsKernel>(tiles, 840 / tiles + 1, halo, 1 + below(2)), 860,
                  from);
    }
    return steps;
}

TEST(StepTasks, RandomStepsAreOrderedAsTheyNeedInEveryWindow) {
    int64_t tile_waits = 0;
    int64_t joints = 0;
    for (uint32_t seed = 0; seed < 200; ++seed) {
        std::mt19937 random(seed);
        const Steps steps = random_steps(random);
        StepTasks tasks(steps.tiled);
        tasks.find_tile_waits(steps.data_waits, 1 + int64_t(random() % 8));
        for (const int32_t window : {0, 1, 2, kUnlimitedWindow}) {
            const Lists whole = whole_waits(tasks.inputs(), window);
            const StepTasks::Program program = tasks.make_program(whole);
            check_order(steps, program, whole);
            check_tiles(steps, program);
            EXPECT_TRUE(window > 0 || program.tile_waits == 0);
            tile_waits += program.tile_waits;
            joints += std::count_if(
                program.tasks.begin(), program.tasks.end(),
                [](const StepTask& task) { return task.kind == StepTask::Kind::kJoint; });
        }
    }
    EXPECT_GT(tile_waits, 200);
    EXPECT_GT(joints, 200);
}

}  // namespace
}  // namespace leat
