#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <time.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <numeric>
#include <thread>
#include <utility>
#include <vector>

#include "gears/dynamic_program.h"
#include "gears/private_stack.h"
#include "gears/ready_deque.h"
#include "gears/token_inbox.h"
#include "leat/scheduler/executor.h"
#include "leat/scheduler/run_bell.h"

namespace leat::scheduler {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(ReadyDeque, GivesHalfOfWhatIsThereOldestFirst) {
    ReadyDeque deque;
    deque.fill(5, [](uint32_t i) { return 10 + i; });
    uint32_t taken[16];
    ASSERT_EQ(deque.take(taken, 16), 3U);
    EXPECT_THAT(std::vector<uint32_t>(taken, taken + 3), ElementsAre(10, 11, 12));
    ASSERT_EQ(deque.take(taken, 16), 1U);
    EXPECT_EQ(taken[0], 13U);
    ASSERT_EQ(deque.take(taken, 16), 1U);
    EXPECT_TRUE(deque.is_empty());
    EXPECT_EQ(deque.take(taken, 16), 0U);
}

TEST(ReadyDeque, GivesNoMoreThanAskedFor) {
    ReadyDeque deque;
    deque.fill(ReadyDeque::kCapacity, [](uint32_t i) { return i; });
    uint32_t taken[4];
    EXPECT_EQ(deque.take(taken, 4), 4U);
    EXPECT_TRUE(deque.offers());
}

// A model: every entry goes to exactly one thread, also where positions wrap.
TEST(ReadyDeque, GivesEveryEntryToOneThread) {
    constexpr size_t kRounds = 2000;
    constexpr size_t kEntries = 20;
    ReadyDeque deque;
    std::vector<std::atomic<int>> counts(kRounds * kEntries);
    std::atomic<bool> is_over{false};
    const auto take = [&] {
        uint32_t taken[8];
        const uint32_t count = deque.take(taken, 8);
        for (uint32_t i = 0; i < count; ++i) {
            ++counts[taken[i]];
        }
        return count;
    };
    std::vector<std::thread> thieves;
    thieves.reserve(2);
    for (int i = 0; i < 2; ++i) {
        thieves.emplace_back([&] {
            while (!is_over) {
                take();
            }
        });
    }
    for (size_t round = 0; round < kRounds; ++round) {
        deque.fill(kEntries, [&](uint32_t i) { return uint32_t(round * kEntries + i); });
        while (!deque.is_empty()) {
            take();
        }
    }
    is_over = true;
    for (std::thread& thief : thieves) {
        thief.join();
    }
    for (const std::atomic<int>& count : counts) {
        ASSERT_EQ(count, 1);
    }
}

TEST(TokenInbox, GivesAllEntriesNewestFirst) {
    TokenInbox inbox;
    std::vector<uint32_t> links(8, 0);
    EXPECT_FALSE(inbox.has_any());
    inbox.put(3, links[3]);
    inbox.put(5, links[5]);
    EXPECT_TRUE(inbox.has_any());
    EXPECT_EQ(inbox.take_all(), 5U);
    EXPECT_EQ(links[5], 3U);
    EXPECT_EQ(links[3], TokenInbox::kNone);
    EXPECT_EQ(inbox.take_all(), TokenInbox::kNone);
}

struct Cell {
    uint32_t link = 0;
};

TEST(PrivateStack, ReturnsTheNewestAndOffersTheOldest) {
    PrivateStack stack;
    std::vector<Cell> cells(8);
    for (uint32_t node = 0; node < 4; ++node) {
        stack.push(node, cells.data());
    }
    EXPECT_EQ(stack.oldest(0), 0U);
    EXPECT_EQ(stack.oldest(1), 1U);
    stack.remove_oldest(2);
    EXPECT_EQ(stack.pop(cells.data()), 3U);
    EXPECT_EQ(stack.pop(cells.data()), 2U);
    EXPECT_EQ(stack.pop(cells.data()), PrivateStack::kNone);
}

TEST(PrivateStack, KeepsMoreThanItsRingHolds) {
    constexpr uint32_t kNodes = 5 * PrivateStack::kCapacity;
    PrivateStack stack;
    std::vector<Cell> cells(kNodes);
    for (uint32_t node = 0; node < kNodes; ++node) {
        stack.push(node, cells.data());
    }
    for (uint32_t node = kNodes; node-- > 0;) {
        ASSERT_EQ(stack.pop(cells.data()), node);
    }
    EXPECT_EQ(stack.pop(cells.data()), PrivateStack::kNone);
}

TEST(PrivateStack, ForgetsTicketsThatItHasNoPlaceFor) {
    PrivateStack stack;
    std::vector<Cell> cells(PrivateStack::kCapacity);
    stack.push(7 | PrivateStack::kTicket, cells.data());
    for (uint32_t node = 0; node < PrivateStack::kCapacity; ++node) {
        stack.push(node, cells.data());
    }
    for (uint32_t node = PrivateStack::kCapacity; node-- > 0;) {
        ASSERT_EQ(stack.pop(cells.data()), node);
    }
    EXPECT_EQ(stack.pop(cells.data()), PrivateStack::kNone);
}

DynamicProgram compile_dynamic(const TaskDag& dag) {
    return DynamicProgram::make(CompactDag::make(dag).value(), {});
}

TaskDag dag_of(int tasks, const std::vector<std::pair<int, int>>& edges) {
    TaskDag dag;
    for (int i = 0; i < tasks; ++i) {
        dag.add({});
    }
    for (const auto& [before, after] : edges) {
        dag.precede(TaskId(before), TaskId(after));
    }
    return dag;
}

//  0 --> 1 --> 3
//   \--> 2 ---^
TEST(DynamicProgram, CountsOnlyWhereSeveralEdgesMeet) {
    const DynamicProgram program = compile_dynamic(dag_of(4, {{0, 1}, {0, 2}, {1, 3}, {2, 3}}));
    EXPECT_TRUE(program.nodes[0].first.is_only());
    EXPECT_EQ(program.nodes[1].first.node(), 3);
    EXPECT_FALSE(program.nodes[1].first.is_only());
    EXPECT_EQ(program.nodes[3].join, 2);
    EXPECT_EQ(program.nodes[3].first.node(), program.final);
    EXPECT_TRUE(program.is_plain());
}

//  0 --> 1
//   \--> 2 --> 3
TEST(DynamicProgram, ContinuesWithTheLongestWay) {
    const DynamicProgram program = compile_dynamic(dag_of(4, {{0, 1}, {0, 2}, {2, 3}}));
    EXPECT_EQ(program.nodes[0].first.node(), 2);
}

TEST(DynamicProgram, ContinuesWithTheFirstTaskOfEquals) {
    const DynamicProgram program = compile_dynamic(dag_of(4, {{0, 1}, {0, 2}, {0, 3}}));
    EXPECT_EQ(program.nodes[0].first.node(), 1);
}

TEST(DynamicProgram, CutsLargeFans) {
    constexpr int kWide = 10'000;
    std::vector<std::pair<int, int>> edges;
    for (int i = 1; i <= kWide; ++i) {
        edges.push_back({0, i});
        edges.push_back({i, kWide + 1});
    }
    const DynamicProgram program = compile_dynamic(dag_of(kWide + 2, edges));
    for (const DynamicNode& node : program.nodes) {
        ASSERT_LE(node.others_count + 1, DynamicProgram::kMaxFan);
        ASSERT_LE(node.join, DynamicProgram::kMaxFan);
    }
    // 157 groups of 64 and 3 of those, on both sides; entry and end.
    EXPECT_EQ(program.nodes.size(), size_t(kWide + 2 + 2 + 2 * (157 + 3)));
}

class DynamicRunTest : public ::testing::Test {
  protected:
    static Program compile(const TaskDag& dag, int workers = 2) {
        CompileOptions options;
        options.workers = workers;
        options.gear = Gear::kDynamic;
        return Program::compile(dag, options).value();
    }
    static Executor& executor(int threads) {
        static std::vector<std::unique_ptr<Executor>> executors(8);
        std::unique_ptr<Executor>& executor = executors[size_t(threads)];
        if (executor == nullptr) {
            ExecutorOptions options;
            options.threads = threads;
            options.pin = false;
            options.source = ThreadSource::kStdThread;
            executor = std::make_unique<Executor>(options);
        }
        return *executor;
    }
    // Notes which tasks ran, in order.
    TaskFunction note() {
        return {[](void* context, TaskId task, TaskScope&) {
                    auto& self = *static_cast<DynamicRunTest*>(context);
                    const std::lock_guard lock(self.mutex_);
                    self.order_.push_back(int(task));
                    return true;
                },
                this};
    }

    std::mutex mutex_;
    std::vector<int> order_;
};

TEST_F(DynamicRunTest, RunsAProgramWithoutTasks) {
    const Program program = compile(TaskDag());
    ProgramState state(program);
    EXPECT_TRUE(executor(1).run(state, note()).ok());
    EXPECT_TRUE(executor(2).run(state, note()).ok());
}

//  0 --> 1 --> 3
//   \--> 2 ---^
TEST_F(DynamicRunTest, RunsAgainOnOtherNumbersOfThreads) {
    const Program program = compile(dag_of(4, {{0, 1}, {0, 2}, {1, 3}, {2, 3}}), 4);
    ProgramState state(program);
    for (const int threads : {1, 2, 4, 1}) {
        order_.clear();
        ASSERT_TRUE(executor(threads).run(state, note()).ok());
        ASSERT_EQ(order_.size(), 4U);
        EXPECT_EQ(order_.front(), 0);
        EXPECT_EQ(order_.back(), 3);
    }
}

TEST_F(DynamicRunTest, TakesHigherPrioritiesFirst) {
    TaskDag dag;
    dag.add({.priority = Priority::kLow});
    dag.add({.priority = Priority::kNormal});
    dag.add({.priority = Priority::kHigh});
    const Program program = compile(dag, 1);
    ProgramState state(program);
    ASSERT_TRUE(executor(1).run(state, note()).ok());
    EXPECT_THAT(order_, ElementsAre(2, 1, 0));
}

TEST_F(DynamicRunTest, DividesTilesAmongWorkers) {
    TaskDag dag;
    constexpr int kTiles = 10'000;
    const TaskId tiled = dag.add({.tile_count = kTiles});
    const TaskId none = dag.add({.tile_count = 0});
    const TaskId last = dag.add({});
    dag.precede(tiled, none);
    dag.precede(none, last);
    const Program program = compile(dag, 4);
    ProgramState state(program);
    struct Tiles {
        std::vector<int> runs = std::vector<int>(kTiles, 0);
        int sum = 0;
    } tiles;
    const TaskFunction function{[](void* context, TaskId task, TaskScope& scope) {
                                    auto& tiles = *static_cast<Tiles*>(context);
                                    if (int(task) == 2) {
                                        tiles.sum = std::accumulate(tiles.runs.begin(),
                                                                    tiles.runs.end(), 0);
                                    }
                                    for (int64_t tile = scope.tile_begin();
                                         int(task) == 0 && tile < scope.tile_end(); ++tile) {
                                        ++tiles.runs[size_t(tile)];
                                    }
                                    return int(task) != 1;
                                },
                                &tiles};
    for (int run = 1; run <= 3; ++run) {
        ASSERT_TRUE(executor(4).run(state, function).ok());
        EXPECT_EQ(tiles.sum, run * kTiles);
        EXPECT_THAT(tiles.runs, ::testing::Each(run));
    }
}

TEST_F(DynamicRunTest, RunsTasksOfTheCallerOnItsThread) {
    TaskDag dag;
    for (int i = 0; i < 40; ++i) {
        dag.add({.affinity = i % 4 == 0 ? Affinity::kCaller : Affinity::kAny});
        if (i > 2) {
            dag.precede(TaskId(i - 3), TaskId(i));
        }
    }
    const Program program = compile(dag, 4);
    ProgramState state(program);
    struct Context {
        std::thread::id caller = std::this_thread::get_id();
        std::atomic<int> elsewhere{0};
    } context;
    const TaskFunction function{
        [](void* pointer, TaskId task, TaskScope&) {
            auto& context = *static_cast<Context*>(pointer);
            if (int(task) % 4 == 0 && std::this_thread::get_id() != context.caller) {
                ++context.elsewhere;
            }
            return true;
        },
        &context};
    for (int run = 0; run < 50; ++run) {
        ASSERT_TRUE(executor(4).run(state, function).ok());
    }
    EXPECT_EQ(context.elsewhere, 0);
}

// Task 1 waits for a point that tile 2 of task 0 moves, and task 2 for task 1; both are more urgent
// than the other tiles.
TEST_F(DynamicRunTest, LeavesTilesForWhatBecomesUrgent) {
    constexpr int kTiles = 8;
    TaskDag dag;
    dag.add({.cost_ns = 1e6, .tile_count = kTiles, .priority = Priority::kLow});
    dag.add({.cost_ns = 1e3, .priority = Priority::kHigh});
    dag.add({.cost_ns = 1e6, .tile_count = 3, .priority = Priority::kNormal});
    dag.add({.priority = Priority::kLow});
    dag.precede(TaskId(1), TaskId(2));
    dag.precede(TaskId(2), TaskId(3));
    const PointId point = dag.add_point();
    dag.wait_for(TaskId(1), point, 1);
    const Program program = compile(dag, 1);
    ProgramState state(program);
    struct Run {
        ProgramState& state;
        PointId point;
        std::vector<std::pair<int, int64_t>> tiles;  // task and tile, as they came
    } run{state, point, {}};
    const TaskFunction function{[](void* context, TaskId task, TaskScope& scope) {
                                    auto& own = *static_cast<Run*>(context);
                                    for (int64_t tile = scope.tile_begin(); tile < scope.tile_end();
                                         ++tile) {
                                        own.tiles.emplace_back(int(task), tile);
                                        if (int(task) == 0 && tile == 2) {
                                            own.state.signal(own.point, 1);
                                        }
                                    }
                                    return true;
                                },
                                &run};
    ASSERT_TRUE(executor(1).run(state, function).ok());
    const auto at = [&](int task, int64_t tile) {
        const auto found = std::find(run.tiles.begin(), run.tiles.end(), std::pair(task, tile));
        return found - run.tiles.begin();
    };
    EXPECT_EQ(run.tiles.size(), size_t(kTiles + 1 + 3 + 1));
    EXPECT_LT(at(0, 2), at(1, 0));
    EXPECT_LT(at(1, 0), at(2, 0));
    EXPECT_LT(at(2, 2), at(0, kTiles - 1));
    EXPECT_LT(at(2, 2), at(3, 0));
    EXPECT_LT(at(0, kTiles - 1), at(3, 0)) << "no task is left for one of its own level";
}

// Chains of urgent tasks with tiles that become ready while all workers are in tiles of less urgent
// ones: each tile runs once, and after those that it waits for.
TEST_F(DynamicRunTest, RunsEachTileOnceWhereTasksAreLeft) {
    constexpr int kChains = 6;
    constexpr int kLinks = 5;
    constexpr int64_t kTiles = 24;
    TaskDag dag;
    std::vector<PointId> points;
    const auto tiled = [&](Priority priority) {
        return dag.add({.cost_ns = 1e6, .tile_count = kTiles, .priority = priority});
    };
    for (int chain = 0; chain < kChains; ++chain) {
        tiled(Priority::kLow);
        for (int link = 1; link < kLinks; ++link) {
            const TaskId task = tiled(link % 2 == 1 ? Priority::kHigh : Priority::kNormal);
            if (link == 1) {
                points.push_back(dag.add_point());
                dag.wait_for(task, points.back(), 1);
            } else {
                dag.precede(TaskId(int(task) - 1), task);
            }
        }
    }
    const Program program = compile(dag, 4);
    ProgramState state(program);
    struct Run {
        ProgramState& state;
        const std::vector<PointId>& points;
        std::vector<std::atomic<int>> tiles =
            std::vector<std::atomic<int>>(size_t{kChains} * kLinks);
        std::atomic<int> early{0};
    };
    const auto call = [](void* context, TaskId task, TaskScope& scope) {
        auto& own = *static_cast<Run*>(context);
        const int link = int(task) % kLinks;
        for (int64_t tile = scope.tile_begin(); tile < scope.tile_end(); ++tile) {
            if (link == 0 && tile == kTiles / 3) {
                own.state.signal(own.points[size_t(int(task) / kLinks)], 1);
            }
            own.early += link > 1 && own.tiles[size_t(task) - 1] != kTiles ? 1 : 0;
            ++own.tiles[size_t(task)];
        }
        return true;
    };
    for (int round = 0; round < 200; ++round) {
        Run run{state, points};
        ASSERT_TRUE(executor(4).run(state, {call, &run}).ok());
        EXPECT_EQ(run.early, 0);
        for (const std::atomic<int>& tiles : run.tiles) {
            EXPECT_EQ(tiles, kTiles);
        }
    }
}

std::chrono::nanoseconds cpu_time_of_thread() {
    timespec time{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
}

TEST_F(DynamicRunTest, SleepsUntilAPointMoves) {
    TaskDag dag = dag_of(3, {{0, 1}, {1, 2}});
    const PointId point = dag.add_point();
    dag.wait_for(TaskId(1), point, 2);
    const Program program = compile(dag, 2);
    ProgramState state(program);
    for (const int threads : {1, 2}) {
        order_.clear();
        int device_output = 0;
        std::thread device([&] {
            std::this_thread::sleep_for(std::chrono::milliseconds(40));
            state.signal(point, 1);
            std::this_thread::sleep_for(std::chrono::milliseconds(40));
            device_output = 7;
            state.signal(point, 2);
        });
        const auto before = cpu_time_of_thread();
        ASSERT_TRUE(executor(threads).run(state, note()).ok());
        EXPECT_EQ(device_output, 7);
        EXPECT_LT(cpu_time_of_thread() - before, std::chrono::milliseconds(20));
        EXPECT_THAT(order_, ElementsAre(0, 1, 2));
        device.join();
    }
}

TEST_F(DynamicRunTest, StartsWithPointsThatMovedBefore) {
    TaskDag dag = dag_of(1, {});
    const PointId point = dag.add_point();
    dag.wait_for(TaskId(0), point, 1);
    const Program program = compile(dag, 1);
    ProgramState state(program);
    state.signal(point, 1);
    EXPECT_TRUE(executor(1).run(state, note()).ok());
}

TEST_F(DynamicRunTest, EndsAtTheDeadlineWhileItSleeps) {
    TaskDag dag = dag_of(1, {});
    const PointId point = dag.add_point();
    dag.wait_for(TaskId(0), point, 1);
    const Program program = compile(dag, 1);
    ProgramState state(program);
    RunControl control;
    control.deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(20);
    EXPECT_EQ(executor(1).run(state, note(), control).code(), StatusCode::kTimeout);
    EXPECT_THAT(order_, ElementsAre());
    // What was counted is forgotten.
    state.signal(point, 1);
    EXPECT_TRUE(executor(1).run(state, note()).ok());
    EXPECT_THAT(order_, ElementsAre(0));
}

// Works on all until one of them has ended.
void work_until_ended(std::vector<RunHandle>& handles, size_t wanted, RunBell& bell) {
    for (;;) {
        const uint32_t seen = bell.events();
        bool has_ended = false;
        for (size_t i = 0; i < handles.size(); ++i) {
            has_ended = (handles[i].work() && i == wanted) || has_ended;
        }
        if (has_ended) {
            return;
        }
        bell.wait(seen, std::chrono::seconds(10));
    }
}

TEST_F(DynamicRunTest, OneThreadServesSeveralRuns) {
    TaskDag dag = dag_of(3, {{0, 1}, {1, 2}});
    const PointId point = dag.add_point();
    dag.wait_for(TaskId(1), point, 1);
    const Program program = compile(dag, 2);
    for (const int threads : {1, 2}) {
        RunBell bell;
        std::vector<ProgramState> states;
        std::vector<RunHandle> handles(3);
        for (size_t i = 0; i < handles.size(); ++i) {
            states.emplace_back(program);
        }
        order_.clear();
        for (size_t i = 0; i < handles.size(); ++i) {
            executor(threads).start(handles[i], states[i], note(), {.bell = &bell});
            EXPECT_FALSE(handles[i].work());
        }
        std::thread device([&] {
            for (size_t i = states.size(); i-- > 0;) {
                std::this_thread::sleep_for(std::chrono::milliseconds(5));
                states[i].signal(point, 1);
            }
        });
        // The last to be signalled, and then all have ended.
        work_until_ended(handles, 0, bell);
        device.join();
        for (RunHandle& handle : handles) {
            EXPECT_TRUE(handle.wait().ok());
        }
        EXPECT_EQ(order_.size(), 9U);
        // Task 0 of each run comes before the others of any, where nobody helps.
        if (threads == 1) {
            EXPECT_EQ(std::count(order_.begin(), order_.begin() + 3, 0), 3);
        }
    }
}

TEST_F(DynamicRunTest, TellsThatARunEndedByItsDeadline) {
    TaskDag dag = dag_of(1, {});
    const PointId point = dag.add_point();
    dag.wait_for(TaskId(0), point, 1);
    const Program program = compile(dag, 1);
    ProgramState state(program);
    RunBell bell;
    RunControl control;
    control.bell = &bell;
    control.deadline = std::chrono::steady_clock::now();
    RunHandle handle = executor(1).start(state, note(), control);
    EXPECT_TRUE(handle.work());
    EXPECT_EQ(handle.wait().code(), StatusCode::kTimeout);
}

TEST_F(DynamicRunTest, NamesATaskThatFailsWithoutAnError) {
    const Program program = compile(dag_of(2, {{0, 1}}));
    ProgramState state(program);
    const TaskFunction function{[](void*, TaskId, TaskScope&) { return false; }, nullptr};
    for (const int threads : {1, 2}) {
        const Status status = executor(threads).run(state, function);
        EXPECT_EQ(status.code(), StatusCode::kInternal);
        EXPECT_THAT(status.message(), HasSubstr("task 0"));
    }
}

TEST_F(DynamicRunTest, RunsALoopInsideATask) {
    const Program program = compile(dag_of(3, {{0, 1}, {1, 2}}));
    struct Loop {
        ProgramState body;
        int left = 1000;
    };
    // Each step of the loop is a run inside the task of the outer one.
    Loop loop{ProgramState(program)};
    const Program outer = compile(dag_of(1, {}));
    ProgramState state(outer);
    const TaskFunction function{[](void* context, TaskId, TaskScope& scope) {
                                    auto& loop = *static_cast<Loop*>(context);
                                    const TaskFunction step{
                                        [](void* left, TaskId task, TaskScope&) {
                                            *static_cast<int*>(left) -= int(task) == 2;
                                            return true;
                                        },
                                        &loop.left};
                                    while (loop.left > 0) {
                                        Status status = scope.run(loop.body, step);
                                        if (!status.ok()) {
                                            return scope.fail(std::move(status));
                                        }
                                    }
                                    return true;
                                },
                                &loop};
    EXPECT_TRUE(executor(2).run(state, function).ok());
    EXPECT_EQ(loop.left, 0);
}

TEST_F(DynamicRunTest, RecordsTimesOfTracedPrograms) {
    CompileOptions options;
    options.workers = 2;
    options.gear = Gear::kDynamic;
    options.is_traced = true;
    const Program program = Program::compile(dag_of(2, {{0, 1}}), options).value();
    ProgramState state(program);
    const TaskFunction function{[](void*, TaskId, TaskScope&) {
                                    std::this_thread::sleep_for(std::chrono::milliseconds(1));
                                    return true;
                                },
                                nullptr};
    ASSERT_TRUE(executor(2).run(state, function).ok());
    EXPECT_THAT(state.task_times_ns(), ElementsAre(::testing::Gt(5e5), ::testing::Gt(5e5)));
}

}  // namespace
}  // namespace leat::scheduler
