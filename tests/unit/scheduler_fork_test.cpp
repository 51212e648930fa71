// Children of fork(): what they do with executors, graphs and runs that they inherited.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "leat/scheduler/executor.h"
#include "leat/scheduler/task_graph.h"
#include "support/child_process.h"
#include "support/step_program.h"

namespace leat::scheduler {
namespace {

using ::testing::HasSubstr;
using testing_support::in_child;
using testing_support::kChildSeconds;
using testing_support::wait_for_child;
using testing_support::wait_until_others_sleep;

constexpr int kThreads = 3;
constexpr int64_t kTiles = 64;

// Which child's check failed: its exit code.
enum Failed : int { kNone, kRun, kTilesLost, kReport, kNoHelper, kNewExecutor, kResult, kNoError };

Program tiles_program(std::optional<Gear> gear = std::nullopt) {
    return *compile_steps({{kTiles, 1e6, {}}, {kTiles, 1e6, {0}}}, kThreads, gear);
}

// Runs both steps once; false if a tile is missing or ran twice. `threads`: who took part.
bool runs_every_tile(Executor& executor, ProgramState& state, size_t& threads) {
    std::vector<std::atomic<int>> counts(2 * size_t(kTiles));
    std::mutex mutex;
    std::set<std::thread::id> ids;
    const StepBody body = [&](int32_t step, int64_t begin, int64_t end, int) {
        for (int64_t tile = begin; tile < end; ++tile) {
            ++counts[size_t(step * kTiles + tile)];
        }
        const std::lock_guard lock(mutex);
        ids.insert(std::this_thread::get_id());
        return Status();
    };
    const Status status = executor.run(state, call_steps(body));
    threads = ids.size();
    return status.ok() &&
           std::all_of(counts.begin(), counts.end(), [](const auto& count) { return count == 1; });
}

// Runs until so many threads took part in one run; false: not within the time of a child.
bool gets_helpers(Executor& executor, ProgramState& state, size_t wanted) {
    size_t threads = 0;
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(kChildSeconds - 10);
    while (threads < wanted && std::chrono::steady_clock::now() < end) {
        if (!runs_every_tile(executor, state, threads)) {
            return false;
        }
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return threads >= wanted;
}

std::vector<ThreadSource> forking_sources() {
#if defined(__SANITIZE_THREAD__)
    return {};  // it does not start threads in children
#else
    return {ThreadSource::kTbb, ThreadSource::kStdThread};
#endif
}

class ForkTest : public ::testing::TestWithParam<ThreadSource> {
  protected:
    static bool has_std_threads() { return GetParam() == ThreadSource::kStdThread; }
    static ExecutorOptions options() {
        ExecutorOptions options;
        options.threads = kThreads;
        options.source = GetParam();
        return options;
    }
};
INSTANTIATE_TEST_SUITE_P(Sources, ForkTest, ::testing::ValuesIn(forking_sources()));
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(ForkTest);

// What a child may do with what it inherited from an idle process.
int use_inherited(std::unique_ptr<Executor>& executor, ProgramState& state, bool has_helpers) {
    for (int round = 0; round < 20; ++round) {
        size_t threads = 0;
        if (!runs_every_tile(*executor, state, threads)) {
            return kTilesLost;
        }
    }
    const ExecutorReport& report = executor->report();
    const bool is_told = report.note.find("fork()") != std::string::npos;
    if (report.threads != (has_helpers ? kThreads : 1) || is_told == has_helpers) {
        return kReport;
    }
    if (has_helpers && !gets_helpers(*executor, state, 2)) {
        return kNoHelper;
    }
    executor.reset();
    return kNone;
}

// The leak checker looks there, where it is part of the build: threads that the child does not have
// owned something.
TEST_P(ForkTest, AChildThatExitsHasNoLeaks) {
    ExecutorOptions options = ForkTest::options();
    options.threads = 2;  // not more than there are CPUs, so that helpers are bound to them
    auto executor = std::make_unique<Executor>(options);
    const Program program = tiles_program();
    ProgramState state(program);
    ASSERT_TRUE(gets_helpers(*executor, state, 2)) << executor->report().note;
    const auto exits = [] {
        std::exit(kNone);
        return int(kRun);
    };
    wait_until_others_sleep();
    EXPECT_EQ(in_child(exits), "0");
    executor.reset();
    EXPECT_EQ(in_child(exits), "0");
}

TEST_P(ForkTest, AChildOfAnIdleProcessRunsWhatItInherited) {
    for (const Gear gear : {Gear::kCompiled, Gear::kDynamic}) {
        auto executor = std::make_unique<Executor>(options());
        const Program program = tiles_program(gear);
        ProgramState state(program);
        ASSERT_TRUE(gets_helpers(*executor, state, 2)) << executor->report().note;
        wait_until_others_sleep();
        for (int child = 0; child < 3; ++child) {
            EXPECT_EQ(in_child([&] { return use_inherited(executor, state, has_std_threads()); }),
                      "0");
        }
        EXPECT_TRUE(gets_helpers(*executor, state, 2)) << "the parent goes on with its helpers";
        EXPECT_EQ(executor->report().threads, kThreads);
    }
}

TEST_P(ForkTest, AChildOfAChildDoesTheSame) {
    auto executor = std::make_unique<Executor>(options());
    const Program program = tiles_program();
    ProgramState state(program);
    ASSERT_TRUE(gets_helpers(*executor, state, 2));
    const auto child = [&] {
        size_t threads = 0;
        if (!runs_every_tile(*executor, state, threads)) {
            return int(kTilesLost);
        }
        wait_until_others_sleep();
        const std::string end =
            in_child([&] { return use_inherited(executor, state, has_std_threads()); });
        return end == "hang" ? 100 : std::stoi(end);
    };
    wait_until_others_sleep();
    EXPECT_EQ(in_child(child), "0");
}

// oneTBB's helpers are in the parent only, so a child's new executors have std::thread.
int make_executors(ProgramState& state) {
    ExecutorOptions options;
    options.threads = kThreads;
    Executor by_default(options);
    options.source = ThreadSource::kStdThread;
    Executor of_std(options);
    for (Executor* executor : {&by_default, &of_std}) {
        if (executor->worker_count() != kThreads || !gets_helpers(*executor, state, 2)) {
            return kNewExecutor;
        }
    }
    for (const ThreadSource source : {ThreadSource::kTbb, ThreadSource::kHostArena}) {
        options.source = source;
        Executor of_tbb(options);
        size_t threads = 0;
        const bool is_told = of_tbb.report().note.find("fork()") != std::string::npos;
        if (of_tbb.worker_count() != 1 || !is_told || !runs_every_tile(of_tbb, state, threads)) {
            return kReport;
        }
    }
    return kNone;
}

TEST(Fork, NewExecutorsOfAChildHaveThreadsOfItsOwn) {
    if (forking_sources().empty()) {
        GTEST_SKIP() << "the thread sanitizer does not start threads in children";
    }
    const Program program = tiles_program();
    ProgramState state(program);
    { Executor executor({.threads = 2, .source = ThreadSource::kTbb}); }
    wait_until_others_sleep();
    EXPECT_EQ(in_child([&] { return make_executors(state); }), "0");
}

//  b (blocking) --> sum <-- a
TEST_P(ForkTest, BlockingNodesRunInAChild) {
    auto executor = std::make_unique<Executor>(options());
    auto graph = std::make_unique<TaskGraph>();
    const auto a = graph->add("a", [] { return 1; });
    const auto b = graph->add("b", [] { return 2; }).on(Domain::blocking());
    const auto sum = graph->add(
        "sum", [](int x, int y) { return x + y; }, a, b);
    const auto run = [&] {
        for (int round = 0; round < 10; ++round) {
            if (!graph->run(*executor).ok()) {
                return int(kRun);
            }
            if (*graph->result(sum) != 3) {
                return int(kResult);
            }
        }
        return int(kNone);
    };
    ASSERT_EQ(run(), kNone);
    const auto child = [&] {
        const int failed = run();
        graph.reset();
        executor.reset();
        return failed;
    };
    wait_until_others_sleep();
    EXPECT_EQ(in_child(child), "0");
    EXPECT_EQ(run(), kNone);
}

// POSIX promises nothing to such a child. The executor does not depend on the other thread's locks.
TEST_P(ForkTest, AChildOfABusyProcessRunsWhatWasIdle) {
    Executor executor(options());
    const Program program = tiles_program();
    ProgramState state(program);
    ProgramState others(program);
    ASSERT_TRUE(gets_helpers(executor, state, 2)) << executor.report().note;
    wait_until_others_sleep();
    std::atomic<bool> is_over{false};
    std::atomic<int> rounds{0};
    std::thread other([&] {
        // Allocates nothing: the lock of a sanitizer's allocator would stay locked in the child.
        std::atomic<int64_t> tiles{0};
        const StepBody body = [&tiles](int32_t, int64_t begin, int64_t end, int) {
            tiles += end - begin;
            return Status();
        };
        const auto steps = call_steps(body);
        while (!is_over) {
            EXPECT_TRUE(executor.run(others, steps).ok());
            ++rounds;
        }
        EXPECT_EQ(tiles, 2 * kTiles * rounds);
    });
    for (int child = 0; child < 20; ++child) {
        const int before = rounds;
        while (rounds == before) {
            std::this_thread::yield();
        }
        EXPECT_EQ(in_child([&] {
                      size_t threads = 0;
                      return runs_every_tile(executor, state, threads) ? kNone : kTilesLost;
                  }),
                  "0");
    }
    is_over = true;
    other.join();
}

// 0 in the child, which does not live for ever.
pid_t fork_with_alarm() {
    const pid_t child = ::fork();
    if (child == 0) {
        ::alarm(kChildSeconds);
    }
    return child;
}

// The child has neither the helpers nor what they had begun: its run ends with an error.
TEST_P(ForkTest, ARunThatATaskForkedInEndsInTheChild) {
    for (const Gear gear : {Gear::kCompiled, Gear::kDynamic}) {
        Executor executor(options());
        const Program program = tiles_program(gear);
        ProgramState state(program);
        const std::thread::id caller = std::this_thread::get_id();
        pid_t child = -1;
        const StepBody body = [&](int32_t, int64_t, int64_t, int) {
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
            if (std::this_thread::get_id() == caller && child == -1) {
                child = fork_with_alarm();
            }
            return Status();
        };
        const Status status = executor.run(state, call_steps(body));
        if (child == 0) {
            const bool is_told = status.code() == StatusCode::kCancelled &&
                                 status.message().find("fork") != std::string::npos;
            ::_exit(is_told ? kNone : kNoError);
        }
        EXPECT_TRUE(status.ok()) << status.message();
        EXPECT_EQ(wait_for_child(child), "0");
    }
}

TEST_P(ForkTest, ARunThatWasStartedEndsInTheChild) {
    for (const Gear gear : {Gear::kCompiled, Gear::kDynamic}) {
        Executor executor(options());
        const Program program = tiles_program(gear);
        ProgramState state(program);
        std::atomic<int> begun{0};
        const StepBody body = [&](int32_t, int64_t, int64_t, int) {
            ++begun;
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
            return Status();
        };
        RunHandle run = executor.start(state, call_steps(body));
        while (begun == 0) {  // a helper has begun a task
            std::this_thread::yield();
        }
        EXPECT_EQ(in_child([&] {
                      return run.wait().code() == StatusCode::kCancelled ? kNone : kNoError;
                  }),
                  "0");
        EXPECT_TRUE(run.wait().ok());
    }
}

TEST_P(ForkTest, ABlockingNodeThatRunsIsNotWaitedForInTheChild) {
    Executor executor(options());
    TaskGraph graph;
    std::atomic<bool> has_begun{false};
    std::atomic<bool> may_end{false};
    graph
        .add("block",
             [&] {
                 has_begun = true;
                 while (!may_end) {
                     std::this_thread::yield();
                 }
             })
        .on(Domain::blocking());
    GraphRun run = graph.start(executor);
    while (!has_begun) {
        std::this_thread::yield();
    }
    EXPECT_EQ(in_child([&] { return run.wait().ok() ? kNoError : kNone; }), "0");
    may_end = true;
    EXPECT_TRUE(run.wait().ok());
}

}  // namespace
}  // namespace leat::scheduler
