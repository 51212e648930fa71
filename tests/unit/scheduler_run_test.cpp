// What a run can do beside its tasks: handles, signals from outside, nested runs, loops,
// priorities.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <limits>
#include <mutex>
#include <new>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

#include "leat/scheduler/executor.h"
#include "support/step_program.h"

namespace leat::scheduler {
namespace {

using std::chrono::milliseconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr Gear kGears[] = {Gear::kInline, Gear::kCompiled, Gear::kDynamic};

ExecutorOptions std_threads(int threads) {
    ExecutorOptions options;
    options.threads = threads;
    options.source = ThreadSource::kStdThread;
    return options;
}

// A body of any tasks, without tiles.
using TaskBody = std::function<bool(int32_t task, TaskScope& scope)>;
TaskFunction call_tasks(const TaskBody& body) {
    return {[](void* context, TaskId task, TaskScope& scope) {
                return (*static_cast<const TaskBody*>(context))(int32_t(task), scope);
            },
            const_cast<TaskBody*>(&body)};
}

Program chain_of(int tasks, Gear gear, int workers = 2) {
    std::vector<Step> steps(size_t(tasks), {1, 1'000, {}});
    for (int32_t i = 1; i < tasks; ++i) {
        steps[size_t(i)].waits = {i - 1};
    }
    return *compile_steps(steps, workers, gear);
}

class RunTest : public ::testing::TestWithParam<Gear> {};
INSTANTIATE_TEST_SUITE_P(Gears, RunTest, ::testing::ValuesIn(kGears), [](const auto& gear) {
    return std::string(name_of(gear.param));
});

TEST_P(RunTest, RunsAChainInOrder) {
    Executor executor(std_threads(2));
    ProgramState state(chain_of(10, GetParam()));
    std::vector<int32_t> order;
    const TaskBody body = [&](int32_t task, TaskScope&) {
        order.push_back(task);
        return true;
    };
    ASSERT_TRUE(executor.run(state, call_tasks(body)).ok());
    EXPECT_THAT(order, ElementsAre(0, 1, 2, 3, 4, 5, 6, 7, 8, 9));
}

TEST_P(RunTest, KeepsTheFirstErrorAndRunsNothingAfterIt) {
    Executor executor(std_threads(2));
    ProgramState state(chain_of(100, GetParam()));
    std::atomic<int32_t> last{-1};
    const TaskBody body = [&](int32_t task, TaskScope& scope) {
        last = task;
        if (task == 3) {
            return scope.fail(Status(StatusCode::kNotFound, "no such thing"));
        }
        return true;
    };
    for (int round = 0; round < 3; ++round) {
        const Status status = executor.run(state, call_tasks(body));
        EXPECT_EQ(status.code(), StatusCode::kNotFound);
        EXPECT_EQ(last, 3);
    }
}

TEST_P(RunTest, TurnsAnExceptionIntoAStatusThatNamesTheTask) {
    Executor executor(std_threads(2));
    ProgramState state(chain_of(10, GetParam()));
    const TaskBody body = [&](int32_t task, TaskScope&) -> bool {
        if (task == 7) {
            throw std::runtime_error("out of luck");
        }
        return true;
    };
    const Status status = executor.run(state, call_tasks(body));
    EXPECT_EQ(status.code(), StatusCode::kUserException);
    EXPECT_THAT(status.message(), HasSubstr("task 7 threw: out of luck"));
}

TEST_P(RunTest, ABodyWithoutMemoryIsNoExceptionOfTheUser) {
    Executor executor(std_threads(2));
    ProgramState state(chain_of(10, GetParam()));
    const TaskBody body = [&](int32_t task, TaskScope&) -> bool {
        if (task == 7) {
            throw std::bad_alloc();
        }
        return true;
    };
    const Status status = executor.run(state, call_tasks(body));
    EXPECT_EQ(status.code(), StatusCode::kOutOfMemory);
    EXPECT_THAT(status.message(), HasSubstr("task 7"));
}

TEST_P(RunTest, ABodyThatReturnsFalseFailsTheRun) {
    Executor executor(std_threads(2));
    ProgramState state(chain_of(3, GetParam()));
    const TaskBody body = [&](int32_t task, TaskScope&) { return task != 1; };
    EXPECT_THAT(executor.run(state, call_tasks(body)).message(), HasSubstr("task 1 failed"));
}

TEST_P(RunTest, GoesOnWhileItsStarterDoesSomethingElse) {
    for (const int threads : {1, 2}) {
        Executor executor(std_threads(threads));
        ProgramState state(chain_of(50, GetParam()));
        std::atomic<int> ran{0};
        const TaskBody body = [&](int32_t, TaskScope&) {
            ++ran;
            return true;
        };
        RunHandle handle = executor.start(state, call_tasks(body));
        if (threads == 2) {
            const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
            while (ran < 50 && std::chrono::steady_clock::now() < end) {
                std::this_thread::sleep_for(milliseconds(1));
            }
            EXPECT_EQ(ran, 50);
        }
        EXPECT_TRUE(handle.wait().ok());
        EXPECT_EQ(ran, 50);
        EXPECT_FALSE(handle.wait().ok());
    }
}

TEST_P(RunTest, DestroyingAHandleCancelsAndWaits) {
    Executor executor(std_threads(2));
    ProgramState state(chain_of(10'000, GetParam()));
    std::atomic<bool> is_inside{false};
    std::atomic<int> ran{0};
    const TaskBody body = [&](int32_t, TaskScope&) {
        is_inside = true;
        std::this_thread::sleep_for(std::chrono::microseconds(200));
        ++ran;
        is_inside = false;
        return true;
    };
    {
        const RunHandle handle = executor.start(state, call_tasks(body));
        std::this_thread::sleep_for(milliseconds(3));
    }
    EXPECT_FALSE(is_inside);
    EXPECT_LT(ran, 10'000);
    // The state works again.
    const TaskBody quick = [&](int32_t, TaskScope&) { return true; };
    EXPECT_TRUE(executor.run(state, call_tasks(quick)).ok());
}

TEST_P(RunTest, AHandleCancelsWhileAnotherThreadWaits) {
    Executor executor(std_threads(2));
    ProgramState state(chain_of(100'000, GetParam()));
    const TaskBody body = [&](int32_t, TaskScope&) {
        std::this_thread::sleep_for(std::chrono::microseconds(50));
        return true;
    };
    RunHandle handle = executor.start(state, call_tasks(body));
    std::thread canceller([&] {
        std::this_thread::sleep_for(milliseconds(5));
        handle.cancel();
    });
    EXPECT_EQ(handle.wait().code(), StatusCode::kCancelled);
    canceller.join();
    handle.cancel();  // too late, and harmless
}

TEST_P(RunTest, ATaskMayRunAnotherProgramAgainAndAgain) {
    Executor executor(std_threads(3));
    ProgramState outer(chain_of(3, GetParam()));
    ProgramState inner(chain_of(4, GetParam(), 3));
    std::atomic<int> ran{0};
    const TaskBody count = [&](int32_t, TaskScope&) {
        ++ran;
        return true;
    };
    const TaskBody loop = [&](int32_t task, TaskScope& scope) {
        for (int turn = 0; turn < task; ++turn) {
            if (!scope.run(inner, call_tasks(count)).ok()) {
                return false;
            }
        }
        return true;
    };
    ASSERT_TRUE(executor.run(outer, call_tasks(loop)).ok());
    EXPECT_EQ(ran, 3 * 4);
}

TEST_P(RunTest, ANestedRunEndsWithTheRunAroundIt) {
    Executor executor(std_threads(2));
    ProgramState outer(chain_of(1, GetParam()));
    ProgramState inner(chain_of(100'000, GetParam()));
    std::stop_source stop;
    const TaskBody stopping = [&](int32_t task, TaskScope&) {
        if (task == 10) {
            stop.request_stop();
        }
        return true;
    };
    Status inner_status;
    const TaskBody body = [&](int32_t, TaskScope& scope) {
        inner_status = scope.run(inner, call_tasks(stopping));
        return true;
    };
    RunControl control;
    control.stop = stop.get_token();
    (void)executor.run(outer, call_tasks(body), control);
    EXPECT_EQ(inner_status.code(), StatusCode::kCancelled);
    EXPECT_THAT(inner_status.message(), HasSubstr("part of"));
}

TEST_P(RunTest, NothingRunsWhereAStopOrADeadlineCameBefore) {
    std::stop_source stop;
    stop.request_stop();
    RunControl stopped;
    stopped.stop = stop.get_token();
    RunControl late;
    late.deadline = std::chrono::steady_clock::now() - milliseconds(1);
    for (const int threads : {1, 4}) {
        Executor executor(std_threads(threads));
        // No edges: every worker could begin at once.
        ProgramState state(
            *compile_steps(std::vector<Step>(100, {1, 1'000, {}}), threads, GetParam()));
        std::atomic<int> ran{0};
        const TaskBody body = [&](int32_t, TaskScope&) {
            ++ran;
            return true;
        };
        for (int round = 0; round < 20; ++round) {
            EXPECT_EQ(executor.run(state, call_tasks(body), stopped).code(),
                      StatusCode::kCancelled);
            EXPECT_EQ(executor.run(state, call_tasks(body), late).code(), StatusCode::kTimeout);
            RunHandle handle = executor.start(state, call_tasks(body), stopped);
            EXPECT_TRUE(handle.work());
            EXPECT_EQ(handle.wait().code(), StatusCode::kCancelled);
            EXPECT_EQ(executor.start(state, call_tasks(body), late).wait().code(),
                      StatusCode::kTimeout);
        }
        EXPECT_EQ(ran, 0);
        ASSERT_TRUE(executor.run(state, call_tasks(body)).ok());
        EXPECT_EQ(ran, 100);
    }
}

// The body of the task goes on after its run was stopped.
TEST_P(RunTest, NothingRunsInsideOfARunThatWasStopped) {
    Executor executor(std_threads(2));
    ProgramState outer(chain_of(1, GetParam()));
    ProgramState inner(chain_of(10, GetParam()));
    std::stop_source stop;
    RunControl control;
    control.stop = stop.get_token();
    int ran = 0;
    const TaskBody inner_body = [&](int32_t, TaskScope&) { return ++ran > 0; };
    StatusCode inner_code = StatusCode::kOk;
    const TaskBody body = [&](int32_t, TaskScope& scope) {
        stop.request_stop();
        inner_code = scope.run(inner, call_tasks(inner_body)).code();
        return true;
    };
    (void)executor.run(outer, call_tasks(body), control);
    EXPECT_EQ(inner_code, StatusCode::kCancelled);
    EXPECT_EQ(ran, 0);
}

TEST_P(RunTest, TasksOfTheCallerRunOnItsThread) {
    TaskDag dag;
    std::vector<TaskId> tasks;
    for (int i = 0; i < 60; ++i) {
        Task task;
        task.cost_ns = 1e6;
        task.affinity = i % 3 == 0 ? Affinity::kCaller : Affinity::kAny;
        tasks.push_back(dag.add(task));
        if (i >= 10) {
            dag.precede(tasks[size_t(i - 10)], tasks[size_t(i)]);
        }
    }
    CompileOptions options;
    options.workers = 3;
    options.gear = GetParam();
    ProgramState state(*Program::compile(dag, options));
    Executor executor(std_threads(3));
    const auto caller = std::this_thread::get_id();
    std::atomic<int> wrong{0};
    const TaskBody body = [&](int32_t task, TaskScope&) {
        std::this_thread::sleep_for(std::chrono::microseconds(100));
        if (task % 3 == 0 && std::this_thread::get_id() != caller) {
            ++wrong;
        }
        return true;
    };
    for (int round = 0; round < 5; ++round) {
        ASSERT_TRUE(executor.run(state, call_tasks(body)).ok());
        RunHandle handle = executor.start(state, call_tasks(body));
        std::this_thread::sleep_for(milliseconds(1));
        ASSERT_TRUE(handle.wait().ok());
    }
    EXPECT_EQ(wrong, 0);
}

//  0 --> 1 (waits for a signal) --> 2        3 --> 4
struct SignalledProgram {
    TaskDag dag;
    PointId point = dag.add_point();

    SignalledProgram() {
        for (int i = 0; i < 5; ++i) {
            dag.add({.cost_ns = 1e5});
        }
        dag.precede(TaskId{0}, TaskId{1});
        dag.precede(TaskId{1}, TaskId{2});
        dag.precede(TaskId{3}, TaskId{4});
        dag.wait_for(TaskId{1}, point, 7);
    }
    Program compile(Gear gear, int workers) const {
        CompileOptions options;
        options.workers = workers;
        options.gear = gear;
        return *Program::compile(dag, options);
    }
};

TEST_P(RunTest, WaitsForASignalFromOutside) {
    const SignalledProgram source;
    for (const int threads : {1, 2}) {
        ProgramState state(source.compile(GetParam(), 2));
        Executor executor(std_threads(threads));
        for (int round = 0; round < 10; ++round) {
            int64_t value = 0;  // written by the signaller, read by the task
            std::atomic<int> ran{0};
            const TaskBody body = [&](int32_t task, TaskScope&) {
                ++ran;
                return task != 1 || value == 5;
            };
            std::thread signaller([&] {
                state.signal(source.point, 6);  // not enough
                std::this_thread::sleep_for(milliseconds(2));
                value = 5;
                state.signal(source.point, 7);
            });
            const Status status = executor.run(state, call_tasks(body));
            signaller.join();
            ASSERT_TRUE(status.ok()) << status.message();
            ASSERT_EQ(ran, 5);
        }
    }
}

TEST_P(RunTest, ASignalMayComeBeforeTheRun) {
    const SignalledProgram source;
    ProgramState state(source.compile(GetParam(), 1));
    Executor executor;
    const TaskBody body = [](int32_t, TaskScope&) { return true; };
    for (int round = 0; round < 3; ++round) {
        state.signal(source.point, 9);
        EXPECT_TRUE(executor.run(state, call_tasks(body)).ok());
    }
}

TEST_P(RunTest, TheDeadlinePassesWhileNothingSignals) {
    const SignalledProgram source;
    ProgramState state(source.compile(GetParam(), 2));
    Executor executor(std_threads(2));
    const TaskBody body = [](int32_t, TaskScope&) { return true; };
    RunControl control;
    control.deadline = std::chrono::steady_clock::now() + milliseconds(5);
    EXPECT_EQ(executor.run(state, call_tasks(body), control).code(), StatusCode::kTimeout);
    // Without helpers on the way, and by the handle.
    RunHandle handle = executor.start(state, call_tasks(body));
    std::this_thread::sleep_for(milliseconds(1));
    handle.cancel();
    EXPECT_EQ(handle.wait().code(), StatusCode::kCancelled);
}

TEST_P(RunTest, ARunWithHelpersThatWaitsForASignalIsIdle) {
    const SignalledProgram source;
    ProgramState state(source.compile(GetParam(), 2));
    Executor executor(std_threads(2));
    const TaskBody body = [](int32_t, TaskScope&) { return true; };
    timespec before{};
    timespec after{};
    ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &before);
    std::thread signaller([&] {
        std::this_thread::sleep_for(milliseconds(300));
        state.signal(source.point, 7);
    });
    ASSERT_TRUE(executor.run(state, call_tasks(body)).ok());
    signaller.join();
    ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &after);
    const double cpu_ms =
        double(after.tv_sec - before.tv_sec) * 1e3 + double(after.tv_nsec - before.tv_nsec) / 1e6;
    EXPECT_LT(cpu_ms, 100);  // spinning would take 300 or 600
}

TEST_P(RunTest, TracedProgramsMeasureTheirTasks) {
    TaskDag dag;
    for (int i = 0; i < 4; ++i) {
        dag.add({.cost_ns = 1e5});
    }
    CompileOptions options;
    options.workers = 2;
    options.gear = GetParam();
    options.is_traced = true;
    ProgramState state(*Program::compile(dag, options));
    EXPECT_THAT(state.task_times_ns(), ::testing::Each(::testing::Lt(0)));
    Executor executor(std_threads(2));
    const TaskBody body = [](int32_t task, TaskScope&) {
        std::this_thread::sleep_for(milliseconds(task == 2 ? 4 : 1));
        return true;
    };
    for (int round = 0; round < 3; ++round) {
        ASSERT_TRUE(executor.run(state, call_tasks(body)).ok());
    }
    const std::vector<double> times = state.task_times_ns();
    EXPECT_GE(times[0], 1e6);
    EXPECT_GE(times[2], 4e6);
    EXPECT_LT(times[2], 1e9);
    const Result<Program> again = state.program().recompile(times);
    ASSERT_TRUE(again.ok());
    EXPECT_GE(again->stats().serial_ns, 7e6);
}

TEST(RunStats, AdviseToRecompileWhenListsStayUnbalanced) {
    // Two tasks that are said to take as long as each other, and do not.
    ProgramState state(*compile_steps({{1, 1e6, {}}, {1, 1e6, {}}}, 2, Gear::kCompiled));
    Executor executor(std_threads(2));
    const TaskBody body = [](int32_t task, TaskScope&) {
        std::this_thread::sleep_for(task == 0 ? milliseconds(3) : milliseconds(0));
        return true;
    };
    for (int round = 0; round < 12; ++round) {
        ASSERT_TRUE(executor.run(state, call_tasks(body)).ok());
    }
    EXPECT_EQ(state.run_stats().runs, 12);
    EXPECT_GE(state.run_stats().wall_ns, 3e6);
}

TEST(ParallelFor, CoversTheRangeOnceFromOutsideAndFromATask) {
    for (const int threads : {1, 2, 4}) {
        Executor executor(std_threads(threads));
        std::vector<std::atomic<int>> counts(10'000);
        const RangeFunction add = [](void* context, int64_t begin, int64_t end, int) {
            auto& cells = *static_cast<std::vector<std::atomic<int>>*>(context);
            for (int64_t i = begin; i < end; ++i) {
                ++cells[size_t(i)];
            }
            return Status();
        };
        ASSERT_TRUE(executor.parallel_for(10'000, 16, add, &counts).ok());
        ASSERT_TRUE(executor.parallel_for(0, 16, add, &counts).ok());
        ProgramState state(chain_of(2, Gear::kCompiled));
        const TaskBody body = [&](int32_t, TaskScope& scope) {
            return scope.parallel_for(10'000, 16, add, &counts).ok();
        };
        ASSERT_TRUE(executor.run(state, call_tasks(body)).ok());
        for (const std::atomic<int>& count : counts) {
            ASSERT_EQ(count, 3);
        }
    }
}

// More indices than a claim of tiles has bits for.
TEST(ParallelFor, CoversHugeRangesOnce) {
    for (const int64_t count : {(int64_t{1} << 40) - 1, int64_t{1} << 40, (int64_t{1} << 62) + 7,
                                std::numeric_limits<int64_t>::max()}) {
        for (const int threads : {1, 2}) {
            Executor executor(std_threads(threads));
            std::mutex mutex;
            std::vector<std::pair<int64_t, int64_t>> ranges;
            std::pair<std::mutex*, decltype(ranges)*> context{&mutex, &ranges};
            const RangeFunction note = [](void* given, int64_t begin, int64_t end, int) {
                const auto& [lock, all] = *static_cast<decltype(context)*>(given);
                const std::lock_guard guard(*lock);
                all->emplace_back(begin, end);
                return all->size() < 1000 ? Status() : Status(StatusCode::kInternal, "no end");
            };
            ASSERT_TRUE(executor.parallel_for(count, 1, note, &context).ok());
            std::sort(ranges.begin(), ranges.end());
            int64_t next = 0;
            for (const auto& [begin, end] : ranges) {
                ASSERT_EQ(begin, next);
                ASSERT_LT(begin, end);
                next = end;
            }
            EXPECT_EQ(next, count);
        }
    }
}

TEST(ParallelFor, ReturnsTheFirstError) {
    Executor executor(std_threads(2));
    const RangeFunction fail = [](void*, int64_t begin, int64_t, int) {
        return begin > 50 ? Status(StatusCode::kNotFound, "not there") : Status();
    };
    EXPECT_EQ(executor.parallel_for(1000, 1, fail, nullptr).code(), StatusCode::kNotFound);
    const RangeFunction throws = [](void*, int64_t, int64_t, int) -> Status {
        throw std::runtime_error("thrown");
    };
    EXPECT_THAT(executor.parallel_for(10, 10, throws, nullptr).message(),
                HasSubstr("the body of parallel_for, in [0, 10), threw: thrown"));
    const RangeFunction starves = [](void*, int64_t, int64_t, int) -> Status {
        throw std::bad_alloc();
    };
    EXPECT_EQ(executor.parallel_for(10, 1, starves, nullptr).code(), StatusCode::kOutOfMemory);
}

// A run of the lists {0, 1} and {2}: task 1 ends when a helper has begun task 2.
class HelperLure {
  public:
    HelperLure(Executor& executor, Priority priority, std::function<void()> on_helper)
        : state_(compile()), on_helper_(std::move(on_helper)) {
        body_ = [this](int32_t task, TaskScope&) {
            if (task == 0) {
                has_begun_ = true;
            } else if (task == 2) {
                on_helper_();
                has_helper_ = true;
            }
            while (task == 1 && !has_helper_) {
                std::this_thread::yield();
            }
            return true;
        };
        caller_ = std::thread([this, &executor, priority] {
            RunControl control;
            control.priority = priority;
            EXPECT_TRUE(executor.run(state_, call_tasks(body_), control).ok());
        });
        while (!has_begun_) {
            std::this_thread::yield();
        }
        std::this_thread::sleep_for(milliseconds(10));  // it has called helpers by now
    }
    ~HelperLure() { caller_.join(); }
    HelperLure(const HelperLure&) = delete;
    HelperLure& operator=(const HelperLure&) = delete;

  private:
    static Program compile() {
        TaskDag dag;
        for (int i = 0; i < 3; ++i) {
            dag.add({.cost_ns = 1e8});
        }
        const std::vector<int32_t> lanes{0, 0, 1};
        const std::vector<double> starts{0, 1e8, 0};
        CompileOptions options;
        options.workers = 2;
        options.gear = Gear::kCompiled;
        options.lanes = lanes;
        options.starts_ns = starts;
        return *Program::compile(dag, options);
    }

    ProgramState state_;
    std::function<void()> on_helper_;
    TaskBody body_;
    std::atomic<bool> has_begun_{false};
    std::atomic<bool> has_helper_{false};
    std::thread caller_;
};

// The one helper is in a run while two more begin that want it: it goes to the important one first.
TEST(Priorities, HelpersGoToTheMostImportantRun) {
    Executor executor(std_threads(2));
    std::atomic<bool> may_go{false};
    std::vector<int> helped;  // by the one helper
    {
        const HelperLure first(executor, Priority::kNormal, [&] {
            while (!may_go) {
                std::this_thread::yield();
            }
        });
        const HelperLure low(executor, Priority::kLow, [&] { helped.push_back(1); });
        const HelperLure high(executor, Priority::kHigh, [&] { helped.push_back(2); });
        may_go = true;
    }
    EXPECT_THAT(helped, ElementsAre(2, 1));
}

TEST(Domains, AnArenaForEachDomainAndWorkersDealtOverThem) {
    const std::vector<int> cpus = affinity_cpus();
    if (cpus.size() < 2) {
        GTEST_SKIP() << "one CPU";
    }
    for (const ThreadSource source : {ThreadSource::kTbb, ThreadSource::kStdThread}) {
#if defined(__SANITIZE_THREAD__)
        if (source == ThreadSource::kTbb) {
            continue;
        }
#endif
        ExecutorOptions options;
        options.threads = 2;
        options.source = source;
        options.domains = {{0, {cpus[0]}}, {1, {cpus[1]}}};
        Executor executor(options);
        EXPECT_EQ(executor.worker_count(), 2);
        EXPECT_THAT(executor.report().worker_domains, ::testing::UnorderedElementsAre(0, 1));
        ProgramState state(*compile_steps({{64, 1e7, {}}, {64, 1e7, {0}}}, 2));
        std::atomic<int64_t> tiles{0};
        const StepBody body = [&](int32_t, int64_t begin, int64_t end, int) {
            tiles += end - begin;
            return Status();
        };
        ASSERT_TRUE(executor.run(state, call_steps(body)).ok());
        EXPECT_EQ(tiles, 128);
    }
}

TEST(ProgramState, RunsAGivenPlacement) {
    // The diamond 0 -> {1, 2} -> 3 with its right side on lane 1.
    TaskDag dag;
    for (int i = 0; i < 4; ++i) {
        dag.add({.cost_ns = 1e6});
    }
    for (const auto& [before, after] : {std::pair{0, 1}, {0, 2}, {1, 3}, {2, 3}}) {
        dag.precede(TaskId(before), TaskId(after));
    }
    const std::vector<int32_t> lanes{0, 0, 1, 0};
    const std::vector<double> starts{0, 1e6, 1e6, 2e6};
    CompileOptions options;
    options.workers = 2;
    options.gear = Gear::kCompiled;
    options.lanes = lanes;
    options.starts_ns = starts;
    const Result<Program> program = Program::compile(dag, options);
    ASSERT_TRUE(program.ok());
    EXPECT_EQ(program->stats().waits, 2);
    ProgramState state(*program);
    Executor executor(std_threads(2));
    std::atomic<int> ran{0};
    const TaskBody body = [&](int32_t, TaskScope&) {
        ++ran;
        return true;
    };
    ASSERT_TRUE(executor.run(state, call_tasks(body)).ok());
    EXPECT_EQ(ran, 4);

    const std::vector<double> impossible{0, 1e6, 1e6, 0.5e6};
    options.starts_ns = impossible;
    EXPECT_THAT(Program::compile(dag, options).error().message(),
                HasSubstr("task 3 is placed before task 1, which it follows"));
}

}  // namespace
}  // namespace leat::scheduler
