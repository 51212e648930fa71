// Random graphs in the compiled and the dynamic gear: priorities, tiles, tasks of the calling
// thread, wished domains, points that other threads signal, delays, errors, exceptions, cancels,
// helpers that do not come.
//
// Tasks write plain memory that their successors read, so that under the thread sanitizer a missing
// order is a reported race; elsewhere stale values give it away.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "leat/scheduler/executor.h"

namespace leat::scheduler {
namespace {

// Graphs for each number of threads: a thousand for each gear.
constexpr int kSeeds = 250;
constexpr int kRunsPerSeed = 5;

struct Shape {
    Gear gear = Gear::kDynamic;
    bool is_plain = true;
    bool is_wide = false;  // fans of more than 64
    bool is_slow = false;
    bool has_domains = false;
};

class Workload {
  public:
    enum class Trouble : uint8_t { kNone, kError, kException };

    Workload(uint32_t seed, const Shape& shape) : random_(seed), shape_(shape) {
        const int count = shape.is_wide ? 200 + pick(400) : 1 + pick(80);
        TaskDag dag;
        for (int task = 0; task < count; ++task) {
            add_task(dag, task);
        }
        if (!shape.is_plain) {
            add_points(dag, count);
        }
        CompileOptions options;
        options.workers = 4;
        options.gear = shape.gear;
        constexpr int kDomains[] = {0, 0, 1, 2};
        if (shape.has_domains) {
            options.worker_domains = kDomains;
        }
        program_.emplace(Program::compile(dag, options).value());
        state_ = std::make_unique<ProgramState>(*program_);
    }

    Status run(Executor& executor, const RunControl& control = {}) {
        ++expected_;
        caller_ = std::this_thread::get_id();
        std::thread signaller = start_signaller();
        Status status = executor.run(*state_, {call, this}, control);
        signaller.join();
        return status;
    }
    // After a run that failed: cells are anything. A new state, because signals that came after the
    // end of the run would count for the next one.
    void forget() {
        keep_state_after_trouble();
        state_ = std::make_unique<ProgramState>(*program_);
    }
    void keep_state_after_trouble() {
        for (auto& task : cells_) {
            std::fill(task.begin(), task.end(), expected_);
        }
        trouble_ = Trouble::kNone;
    }
    void cause(Trouble trouble) {
        trouble_ = trouble;
        trouble_task_ = pick(int(cells_.size()));
    }
    ::testing::AssertionResult is_complete() const {
        for (size_t task = 0; task < cells_.size(); ++task) {
            for (const int cell : cells_[task]) {
                if (cell != expected_) {
                    return ::testing::AssertionFailure()
                           << "task " << task << " ran " << cell << " times of " << expected_;
                }
            }
        }
        return ::testing::AssertionSuccess();
    }
    ProgramState& state() { return *state_; }
    TaskFunction function() { return {call, this}; }
    void expect_run() {
        ++expected_;
        caller_ = std::this_thread::get_id();
    }

  private:
    int pick(int below) { return int(random_() % uint32_t(below)); }

    void add_task(TaskDag& dag, int task) {
        Task properties;
        if (!shape_.is_plain) {
            properties.priority = Priority(pick(3));
            properties.tile_count = pick(3) == 0 ? pick(20) : 1;
            if (properties.tile_count == 1 && pick(6) == 0) {
                properties.affinity = Affinity::kCaller;
            }
        }
        if (shape_.has_domains) {
            properties.domain = pick(5) - 1;  // any, one of three, or one that nobody is of
        }
        callers_only_.push_back(char(properties.affinity == Affinity::kCaller));
        dag.add(properties);
        cells_.emplace_back(size_t(properties.tile_count), 0);
        waits_.emplace_back();
        const int wanted = shape_.is_wide && pick(20) == 0 ? 70 + pick(100) : pick(4);
        for (int k = 0; k < wanted && task > 0; ++k) {
            const int before = shape_.is_wide && pick(2) == 0 ? 0 : pick(task);
            waits_.back().push_back(before);
            dag.precede(TaskId(before), TaskId(task));
        }
    }
    void add_points(TaskDag& dag, int count) {
        points_ = pick(3);
        for (int point = 0; point < points_; ++point) {
            dag.add_point();
            for (int k = 0; k < 3; ++k) {
                dag.wait_for(TaskId(pick(count)), PointId(point), 1 + pick(4));
            }
        }
    }
    std::thread start_signaller() {
        const int first = pick(3);  // of the values, this many come before the run
        const auto signal_all = [this](int begin, int end, int pause_us) {
            for (int value = begin; value <= end; ++value) {
                for (int point = 0; point < points_; ++point) {
                    std::this_thread::sleep_for(std::chrono::microseconds(pause_us));
                    state_->signal(PointId(point), value);
                }
            }
        };
        signal_all(1, first, 0);
        return std::thread(signal_all, first + 1, 4, pick(2) * pick(150));
    }

    static bool call(void* self, TaskId task, TaskScope& scope) {
        Status status = static_cast<Workload*>(self)->run_tiles(int32_t(task), scope);
        return status.ok() || scope.fail(std::move(status));
    }
    Status run_tiles(int32_t task, const TaskScope& scope) {
        if (callers_only_[size_t(task)] && std::this_thread::get_id() != caller_) {
            return Status(StatusCode::kInternal, "a task of the caller ran elsewhere");
        }
        for (const int32_t wait : waits_[size_t(task)]) {
            for (const int cell : cells_[size_t(wait)]) {
                if (cell != expected_) {
                    return Status(StatusCode::kInternal, "a task started before what it follows");
                }
            }
        }
        if (shape_.is_slow && task % 5 == 0) {
            std::this_thread::sleep_for(std::chrono::microseconds(task % 50));
        }
        if (trouble_ == Trouble::kException && task == trouble_task_) {
            throw std::runtime_error("planned exception");
        }
        if (trouble_ == Trouble::kError && task == trouble_task_) {
            return Status(StatusCode::kInvalidArgument, "planned error");
        }
        for (int64_t tile = scope.tile_begin(); tile < scope.tile_end(); ++tile) {
            ++cells_[size_t(task)][size_t(tile)];
        }
        return {};
    }

    std::mt19937 random_;
    const Shape shape_;
    std::optional<Program> program_;
    std::unique_ptr<ProgramState> state_;
    std::vector<std::vector<int>> cells_;
    std::vector<std::vector<int32_t>> waits_;
    std::vector<char> callers_only_;
    int points_ = 0;
    int expected_ = 0;
    std::thread::id caller_;
    Trouble trouble_ = Trouble::kNone;
    int trouble_task_ = 0;
};

Shape shape_of(Gear gear, int seed) {
    return {.gear = gear,
            .is_plain = seed % 2 == 0,
            .is_wide = seed % 3 == 0,
            .is_slow = seed % 5 == 0,
            .has_domains = seed % 4 >= 2};
}

// Of one domain, or of three with CPUs that this machine need not have.
std::unique_ptr<Executor> make_executor(int threads, bool has_domains = false) {
    ExecutorOptions options;
    options.threads = threads;
    if (has_domains) {
        options.domains = {{0, {9'000, 9'001}}, {1, {9'002}}, {2, {9'003}}};
    }
    options.source = ThreadSource::kStdThread;
    options.pin = false;
    return std::make_unique<Executor>(options);
}

struct Setting {
    int threads;
    Gear gear;
    bool has_domains = false;
};

class ProgramStress : public ::testing::TestWithParam<Setting> {
  protected:
    std::unique_ptr<Executor> executor_ = make_executor(GetParam().threads, GetParam().has_domains);
    Shape shape(int seed) const { return shape_of(GetParam().gear, seed); }
};

TEST_P(ProgramStress, RunsEveryTaskOnceAndInOrder) {
    for (int seed = 0; seed < kSeeds; ++seed) {
        Workload workload{uint32_t(seed), shape(seed)};
        for (int i = 0; i < kRunsPerSeed; ++i) {
            const Status status = workload.run(*executor_);
            ASSERT_TRUE(status.ok()) << "seed " << seed << ": " << status.message();
            ASSERT_TRUE(workload.is_complete()) << "seed " << seed;
        }
    }
}

TEST_P(ProgramStress, KeepsTheFirstErrorAndRunsAgain) {
    for (int seed = 0; seed < kSeeds; ++seed) {
        Workload workload{uint32_t(seed), shape(seed)};
        const bool throws = seed % 4 < 2;
        workload.cause(throws ? Workload::Trouble::kException : Workload::Trouble::kError);
        const Status status = workload.run(*executor_);
        // A task without tiles causes no trouble.
        if (!status.ok()) {
            ASSERT_EQ(status.code(),
                      throws ? StatusCode::kUserException : StatusCode::kInvalidArgument)
                << "seed " << seed << ": " << status.message();
        }
        if (shape(seed).is_plain) {
            workload.keep_state_after_trouble();
        } else {
            workload.forget();
        }
        ASSERT_TRUE(workload.run(*executor_).ok()) << "seed " << seed;
        ASSERT_TRUE(workload.is_complete()) << "seed " << seed;
    }
}

TEST_P(ProgramStress, StopsWhenAskedAndRunsAgain) {
    for (int seed = 0; seed < kSeeds; ++seed) {
        Workload workload{uint32_t(seed), shape(seed)};
        std::stop_source stop;
        RunControl control;
        control.stop = stop.get_token();
        if (seed % 7 == 0) {
            control.deadline = std::chrono::steady_clock::now() + std::chrono::microseconds(30);
        }
        std::thread stopper([&stop, seed] {
            std::this_thread::sleep_for(std::chrono::microseconds(seed % 90));
            stop.request_stop();
        });
        const Status status = workload.run(*executor_, control);
        stopper.join();
        if (status.ok()) {
            ASSERT_TRUE(workload.is_complete()) << "seed " << seed;
        } else {
            ASSERT_TRUE(status.code() == StatusCode::kCancelled ||
                        status.code() == StatusCode::kTimeout)
                << "seed " << seed << ": " << status.message();
            workload.forget();
        }
        ASSERT_TRUE(workload.run(*executor_).ok()) << "seed " << seed;
        ASSERT_TRUE(workload.is_complete()) << "seed " << seed;
    }
}

TEST_P(ProgramStress, RunsWithoutTheCallerUntilItWaits) {
    for (int seed = 0; seed < kSeeds; ++seed) {
        Workload workload{uint32_t(seed), {.gear = GetParam().gear, .is_wide = seed % 3 == 0}};
        workload.expect_run();
        RunHandle handle = executor_->start(workload.state(), workload.function());
        if (seed % 2 == 0) {
            std::this_thread::sleep_for(std::chrono::microseconds(seed % 60));
        }
        ASSERT_TRUE(handle.wait().ok()) << "seed " << seed;
        ASSERT_TRUE(workload.is_complete()) << "seed " << seed;
    }
}

INSTANTIATE_TEST_SUITE_P(Gears,
                         ProgramStress,
                         ::testing::Values(Setting{1, Gear::kCompiled},
                                           Setting{2, Gear::kCompiled},
                                           Setting{3, Gear::kCompiled},
                                           Setting{4, Gear::kCompiled},
                                           Setting{2, Gear::kCompiled, true},
                                           Setting{3, Gear::kCompiled, true},
                                           Setting{4, Gear::kCompiled, true},
                                           Setting{1, Gear::kDynamic},
                                           Setting{2, Gear::kDynamic},
                                           Setting{3, Gear::kDynamic},
                                           Setting{4, Gear::kDynamic}),
                         [](const auto& info) {
                             return std::string(name_of(info.param.gear)) +
                                    std::to_string(info.param.threads) +
                                    (info.param.has_domains ? "_domains" : "");
                         });

// Runs inside tasks of runs, on the same helpers.
TEST(NestedStress, RunsProgramsInsideTasks) {
    const std::unique_ptr<Executor> executor = make_executor(3);
    struct Outer {
        std::vector<std::unique_ptr<Workload>> inner;
    } outer;
    constexpr int kTasks = 24;
    TaskDag dag;
    for (int task = 0; task < kTasks; ++task) {
        outer.inner.push_back(std::make_unique<Workload>(
            uint32_t(task), Shape{.gear = task % 2 == 0 ? Gear::kDynamic : Gear::kCompiled,
                                  .is_wide = task % 3 == 0}));
        dag.add({});
        if (task >= 4) {
            dag.precede(TaskId(task - 4), TaskId(task));
        }
    }
    CompileOptions options;
    options.workers = 3;
    options.gear = Gear::kDynamic;
    const Program program = Program::compile(dag, options).value();
    ProgramState state(program);
    const TaskFunction function{[](void* context, TaskId task, TaskScope& scope) {
                                    Workload& inner =
                                        *static_cast<Outer*>(context)->inner[size_t(task)];
                                    inner.expect_run();
                                    Status status = scope.run(inner.state(), inner.function());
                                    return status.ok() || scope.fail(std::move(status));
                                },
                                &outer};
    for (int i = 0; i < 20; ++i) {
        ASSERT_TRUE(executor->run(state, function).ok());
        for (const auto& inner : outer.inner) {
            ASSERT_TRUE(inner->is_complete());
        }
    }
}

// Several threads run states of one program on one executor.
TEST(NestedStress, RunsStatesOfOneExecutorAtTheSameTime) {
    const std::unique_ptr<Executor> executor = make_executor(3);
    constexpr int kCallers = 3;
    std::vector<std::thread> callers;
    callers.reserve(kCallers);
    std::atomic<int> failures{0};
    const auto run_some = [&](int seed) {
        Workload workload{uint32_t(seed),
                          shape_of(seed % 2 == 0 ? Gear::kDynamic : Gear::kCompiled, seed)};
        for (int i = 0; i < kRunsPerSeed; ++i) {
            failures += int(!workload.run(*executor).ok() || !workload.is_complete());
        }
    };
    for (int caller = 0; caller < kCallers; ++caller) {
        callers.emplace_back([&run_some, caller] {
            for (int seed = caller; seed < 60; seed += kCallers) {
                run_some(seed);
            }
        });
    }
    for (std::thread& caller : callers) {
        caller.join();
    }
    EXPECT_EQ(failures, 0);
}

}  // namespace
}  // namespace leat::scheduler
