#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <oneapi/tbb/global_control.h>
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <filesystem>
#include <functional>
#include <mutex>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "leat/scheduler/executor.h"
#include "support/step_program.h"

namespace leat::scheduler {
namespace {

using ::testing::HasSubstr;

using Body = StepBody;

Status run_body(Executor& executor,
                ProgramState& state,
                const Body& body,
                const RunControl& control = {}) {
    return executor.run(state, call_steps(body), control);
}

// Costs that make every program worth helpers.
Program make_program(std::vector<Step> steps, int workers) {
    for (Step& step : steps) {
        step.cost_ns = 1e6;
    }
    return std::move(compile_steps(steps, workers)).value();
}

void sleep_us(int us) {
    std::this_thread::sleep_for(std::chrono::microseconds(us));
}

std::vector<ThreadSource> thread_sources() {
#if defined(__SANITIZE_THREAD__)
    return {ThreadSource::kStdThread};
#else
    return {ThreadSource::kTbb, ThreadSource::kStdThread};
#endif
}

class ExecutorTest : public ::testing::TestWithParam<ThreadSource> {
  protected:
    static std::unique_ptr<Executor> make(int threads) {
        ExecutorOptions options;
        options.threads = threads;
        options.source = GetParam();
        return std::make_unique<Executor>(options);
    }
};
INSTANTIATE_TEST_SUITE_P(Sources, ExecutorTest, ::testing::ValuesIn(thread_sources()));

TEST(Executor, OneThreadRunsStepsInOrderAsWorkerZero) {
    const Program program = make_program({{3, 0, {}}, {0, 0, {}}, {2, 0, {0}}}, 1);
    ProgramState state(program);
    std::vector<int64_t> seen;
    Executor executor;
    const Status status = run_body(executor, state, [&](int32_t step, int64_t b, int64_t e, int w) {
        seen.insert(seen.end(), {step, b, e, w});
        return Status();
    });
    EXPECT_TRUE(status.ok());
    EXPECT_THAT(seen, ::testing::ElementsAre(0, 0, 3, 0, 2, 0, 2, 0));
}

// The program's four steps have 100, 7, 1 and 1000 tiles.
void expect_run_of_every_tile(Executor& executor, ProgramState& state) {
    std::vector<std::atomic<int>> counts(1108);
    const int64_t offsets[] = {0, 100, 107, 108};
    const Body body = [&](int32_t step, int64_t begin, int64_t end, int) {
        for (int64_t tile = begin; tile < end; ++tile) {
            ++counts[size_t(offsets[step] + tile)];
        }
        return Status();
    };
    ASSERT_TRUE(run_body(executor, state, body).ok());
    for (const auto& count : counts) {
        ASSERT_EQ(count, 1);
    }
}

TEST_P(ExecutorTest, RunsEveryTileOnce) {
    for (const int threads : {1, 2, 3, 4, 8}) {
        const auto executor = make(threads);
        EXPECT_EQ(executor->worker_count(), threads) << executor->report().note;
        const Program program =
            make_program({{100, 0, {}}, {7, 0, {0}}, {1, 0, {1}}, {1000, 0, {0}}}, threads);
        ProgramState state(program);
        for (int round = 0; round < 50; ++round) {
            ASSERT_NO_FATAL_FAILURE(expect_run_of_every_tile(*executor, state));
        }
    }
}

// Who took part in a run.
struct Participants {
    std::set<std::thread::id> ids;
    std::set<int> workers;
};

Participants participants_of_a_run(Executor& executor, ProgramState& state) {
    Participants seen;
    std::mutex mutex;
    const Body body = [&](int32_t, int64_t, int64_t, int worker) {
        {
            const std::lock_guard lock(mutex);
            seen.ids.insert(std::this_thread::get_id());
            seen.workers.insert(worker);
        }
        sleep_us(2000);
        return Status();
    };
    EXPECT_TRUE(run_body(executor, state, body).ok());
    return seen;
}

TEST_P(ExecutorTest, ReallyRunsAsManyThreadsAsAskedFor) {
    constexpr std::chrono::seconds kPatience{60};  // a busy machine starts some threads too late
    for (const int threads : {2, 4, 7}) {
        const auto executor = make(threads);
        ASSERT_EQ(executor->worker_count(), threads) << executor->report().note;
        const Program program = make_program({{64, 0, {}}}, threads);
        ProgramState state(program);
        const auto end = std::chrono::steady_clock::now() + kPatience;
        Participants seen;
        do {
            seen = participants_of_a_run(*executor, state);
            EXPECT_EQ(seen.ids.size(), seen.workers.size());
            EXPECT_EQ(seen.ids.count(std::this_thread::get_id()), 1);
        } while (int(seen.ids.size()) < threads && std::chrono::steady_clock::now() < end);
        EXPECT_EQ(int(seen.ids.size()), threads);
        EXPECT_EQ(*seen.workers.rbegin(), threads - 1);
    }
}

TEST_P(ExecutorTest, ASecondExecutorGetsMoreThreadsThanTheFirst) {
    const auto first = make(4);
    const auto second = make(32);
    EXPECT_EQ(second->worker_count(), 32) << second->report().note;
    EXPECT_EQ(make(8)->worker_count(), 8);
    const Program program = make_program({{64, 0, {}}}, 32);
    ProgramState state(program);
    constexpr std::chrono::seconds kPatience{60};
    const auto end = std::chrono::steady_clock::now() + kPatience;
    size_t most = 0;
    while (most <= 4 && std::chrono::steady_clock::now() < end) {
        most = std::max(most, participants_of_a_run(*second, state).ids.size());
    }
    EXPECT_GT(most, 4) << "more than the first one has";
}

#if !defined(__SANITIZE_THREAD__)
size_t allowed_by_tbb() {
    using oneapi::tbb::global_control;
    return global_control::active_value(global_control::max_allowed_parallelism);
}

TEST(Executor, OneTbbAllowsWhatTheLargestExecutorThatLivesNeeds) {
    const size_t before = allowed_by_tbb();
    {
        const Executor small({.threads = int(before) + 2, .source = ThreadSource::kTbb});
        EXPECT_EQ(allowed_by_tbb(), before + 2);
        {
            const Executor large({.threads = int(before) + 9, .source = ThreadSource::kTbb});
            EXPECT_EQ(allowed_by_tbb(), before + 9);
        }
        EXPECT_EQ(allowed_by_tbb(), before + 2);
    }
    EXPECT_EQ(allowed_by_tbb(), before);
}

TEST(Executor, AGlobalControlOfTheProgramIsHonouredAndNamed) {
    using oneapi::tbb::global_control;
    const size_t before = allowed_by_tbb();
    std::optional<global_control> own(std::in_place, global_control::max_allowed_parallelism, 2);
    const Executor limited({.threads = 8, .pin = false, .source = ThreadSource::kTbb});
    EXPECT_EQ(limited.worker_count(), 2);
    EXPECT_THAT(limited.report().note,
                HasSubstr("2 of 8 threads: oneTBB or a tbb::global_control"));
    own.reset();
    EXPECT_GE(allowed_by_tbb(), before) << "what is left is not lower than without any control";
    const Executor free({.threads = 8, .pin = false, .source = ThreadSource::kTbb});
    EXPECT_EQ(free.worker_count(), 8) << free.report().note;
}
#endif

TEST_P(ExecutorTest, CallerStartsBeforeAnyHelperIsCalled) {
    const Program program = make_program({{64, 0, {}}}, 4);
    for (int round = 0; round < 20; ++round) {
        const auto executor = make(4);  // a helper that lingers from an earlier run could be first
        ProgramState state(program);
        std::atomic<int> first{-1};
        const Body body = [&](int32_t, int64_t, int64_t, int worker) {
            int none = -1;
            first.compare_exchange_strong(none, worker);
            return Status();
        };
        ASSERT_TRUE(run_body(*executor, state, body).ok());
        EXPECT_EQ(first, 0);
    }
}

TEST_P(ExecutorTest, SmallProgramStaysOnTheCaller) {
    const auto executor = make(4);
    const Program program = std::move(compile_steps({{64, 5000, {}}}, 4)).value();
    ProgramState state(program);
    const auto caller = std::this_thread::get_id();
    const Body body = [&](int32_t, int64_t, int64_t, int worker) {
        EXPECT_EQ(worker, 0);
        EXPECT_EQ(std::this_thread::get_id(), caller);
        return Status();
    };
    EXPECT_TRUE(run_body(*executor, state, body).ok());
}

TEST_P(ExecutorTest, ReturnsTheFirstErrorAndCancelsTheRest) {
    const auto executor = make(3);
    const Program program = make_program({{50, 0, {}}, {50, 0, {0}}}, 3);
    ProgramState state(program);
    const Body failing = [](int32_t step, int64_t begin, int64_t, int) {
        EXPECT_EQ(step, 0);
        return begin >= 10 ? Status(StatusCode::kInvalidArgument, "tile went wrong") : Status();
    };
    for (int round = 0; round < 20; ++round) {
        const Status status = run_body(*executor, state, failing);
        EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
        // The same state works again.
        std::atomic<int64_t> tiles{0};
        const Body counting = [&](int32_t, int64_t begin, int64_t end, int) {
            tiles += end - begin;
            return Status();
        };
        ASSERT_TRUE(run_body(*executor, state, counting).ok());
        EXPECT_EQ(tiles, 100);
    }
}

TEST_P(ExecutorTest, CatchesExceptions) {
    for (const int threads : {1, 3}) {
        const auto executor = make(threads);
        const Program program = make_program({{50, 0, {}}}, threads);
        ProgramState state(program);
        const Body throws = [](int32_t, int64_t, int64_t, int) -> Status {
            throw std::runtime_error("no luck");
        };
        const Status status = run_body(*executor, state, throws);
        EXPECT_EQ(status.code(), StatusCode::kUserException);
        EXPECT_THAT(status.message(), HasSubstr("no luck"));
    }
}

TEST_P(ExecutorTest, StopsAtTheDeadlineAndAtAStopToken) {
    for (const int threads : {1, 2, 4}) {
        const auto executor = make(threads);
        const Program program = make_program({{1000, 0, {}}, {1000, 0, {0}}}, threads);
        ProgramState state(program);
        std::atomic<int64_t> tiles{0};
        std::stop_source stop;
        const Body body = [&](int32_t, int64_t begin, int64_t end, int) {
            sleep_us(100);
            if ((tiles += end - begin) > 20) {
                stop.request_stop();
            }
            return Status();
        };
        RunControl control;
        control.stop = stop.get_token();
        EXPECT_EQ(run_body(*executor, state, body, control).code(), StatusCode::kCancelled);
        EXPECT_LT(tiles, 1500);

        control = {};
        control.deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(2);
        tiles = -1'000'000;
        EXPECT_EQ(run_body(*executor, state, body, control).code(), StatusCode::kTimeout);
        EXPECT_LT(tiles, -1'000'000 + 2000);
    }
}

// The caller waits in step 1 for the helper that runs step 0: the deadline is seen there too.
TEST_P(ExecutorTest, DeadlinePassesWhileWaitingForAHelper) {
    const auto executor = make(2);
    const Program program = make_program({{2, 0, {}}, {100, 0, {0}}}, 2);
    ProgramState state(program);
    std::atomic<int> helpers{0};
    const Body body = [&](int32_t step, int64_t, int64_t, int worker) {
        EXPECT_EQ(step, 0);
        if (worker != 0) {
            ++helpers;
        }
        sleep_us(20'000);
        return Status();
    };
    RunControl control;
    control.deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(10);
    EXPECT_EQ(run_body(*executor, state, body, control).code(), StatusCode::kTimeout);
}

TEST_P(ExecutorTest, ATileMayRunAnotherProgram) {
    const auto executor = make(3);
    const Program outer = make_program({{8, 0, {}}}, 3);
    const Program inner = make_program({{20, 0, {}}, {20, 0, {0}}}, 3);
    ProgramState outer_state(outer);
    std::vector<ProgramState> inner_states;
    inner_states.reserve(8);
    for (int tile = 0; tile < 8; ++tile) {
        inner_states.emplace_back(inner);
    }
    std::atomic<int64_t> tiles{0};
    const Body inner_body = [&](int32_t, int64_t begin, int64_t end, int) {
        tiles += end - begin;
        return Status();
    };
    const Body outer_body = [&](int32_t, int64_t begin, int64_t end, int) {
        for (int64_t tile = begin; tile < end; ++tile) {
            EXPECT_TRUE(run_body(*executor, inner_states[size_t(tile)], inner_body).ok());
        }
        return Status();
    };
    ASSERT_TRUE(run_body(*executor, outer_state, outer_body).ok());
    EXPECT_EQ(tiles, 8 * 40);
}

TEST_P(ExecutorTest, DestructionWaitsForHelpersThatWereJustCalled) {
    for (int round = 0; round < 100; ++round) {
        const auto executor = make(4);
        const Program program = make_program({{8, 0, {}}}, 4);
        ProgramState state(program);
        const Body body = [](int32_t, int64_t, int64_t, int) { return Status(); };
        ASSERT_TRUE(run_body(*executor, state, body).ok());
    }
}

TEST_P(ExecutorTest, LeavesTheCallersAffinityAlone) {
    const auto mask = [] {
        cpu_set_t set;
        CPU_ZERO(&set);
        EXPECT_EQ(::sched_getaffinity(0, sizeof set, &set), 0);
        return CPU_COUNT(&set);
    };
    const int before = mask();
    const auto executor = make(2);
    const Program program = make_program({{64, 0, {}}}, 2);
    ProgramState state(program);
    std::atomic<int> widest_helper{0};
    const Body body = [&](int32_t, int64_t, int64_t, int worker) {
        sleep_us(500);
        if (worker == 0) {
            EXPECT_EQ(mask(), before);
        } else {
            widest_helper = mask();
        }
        return Status();
    };
    ASSERT_TRUE(run_body(*executor, state, body).ok());
    EXPECT_EQ(mask(), before);
    if (executor->report().pinned && widest_helper > 0) {  // 0: no helper came in time
        EXPECT_EQ(widest_helper, 1);
    }
}

// Of every thread of the process: the fewest CPUs that one may run on.
int narrowest_mask() {
    int fewest = CPU_SETSIZE;
    for (const auto& entry : std::filesystem::directory_iterator("/proc/self/task")) {
        cpu_set_t set;
        CPU_ZERO(&set);
        const int thread = std::stoi(entry.path().filename().string());
        if (::sched_getaffinity(thread, sizeof set, &set) == 0) {
            fewest = std::min(fewest, CPU_COUNT(&set));
        }
    }
    return fewest;
}

TEST_P(ExecutorTest, LeavesNoThreadBound) {
    const int before = narrowest_mask();
    {
        const auto executor = make(2);
        const Program program = make_program({{64, 0, {}}}, 2);
        ProgramState state(program);
        for (int round = 0; round < 20; ++round) {
            // Some helpers come, some late, some not at all.
            const Body body = [&](int32_t, int64_t, int64_t, int) {
                sleep_us(round % 2 == 0 ? 20 : 0);
                return Status();
            };
            ASSERT_TRUE(run_body(*executor, state, body).ok());
            sleep_us(round * 20);
        }
    }
    EXPECT_EQ(narrowest_mask(), before);
}

TEST(Executor, SaysWhyItDoesNotPin) {
    ExecutorOptions options;
    options.threads = 64;
    options.source = ThreadSource::kStdThread;
    const Executor many(options);
    EXPECT_FALSE(many.report().pinned);
    EXPECT_THAT(many.report().note, HasSubstr("not pinned: "));
    options.threads = 2;
    options.pin = false;
    EXPECT_EQ(Executor(options).report().note, "");
}

}  // namespace
}  // namespace leat::scheduler
