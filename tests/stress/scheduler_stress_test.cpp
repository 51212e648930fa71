// Random programs on every number of threads and both providers. Tiles write and read plain memory,
// so that under the thread sanitizer a wait that does not order what it should is a reported race;
// elsewhere stale values give it away.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <random>
#include <stdexcept>
#include <thread>
#include <vector>

#include "leat/scheduler/executor.h"
#include "support/step_program.h"

namespace leat::scheduler {
namespace {

constexpr int kThreadCounts[] = {1, 2, 3, 4, 8};

std::vector<ThreadSource> thread_sources() {
#if defined(__SANITIZE_THREAD__)
    return {ThreadSource::kStdThread};
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
    return {ThreadSource::kStdThread};
#else
    return {ThreadSource::kTbb, ThreadSource::kStdThread};
#endif
#else
    return {ThreadSource::kTbb, ThreadSource::kStdThread};
#endif
}

std::unique_ptr<Executor> make_executor(int threads, bool pin, ThreadSource source) {
    ExecutorOptions options;
    options.threads = threads;
    options.pin = pin;
    options.source = source;
    return std::make_unique<Executor>(options);
}

// A program, and memory of its tiles: each adds one to its own cell after having read all cells of
// the steps that its step waits for.
class Workload {
  public:
    enum class Trouble : uint8_t { kNone, kError, kException };

    Workload(uint32_t seed, int max_workers) : random_(seed) {
        const int count = 1 + int(random_() % 60);
        std::vector<Step> steps(static_cast<size_t>(count));
        for (int i = 0; i < count; ++i) {
            Step& step = steps[size_t(i)];
            step.tile_count = int64_t(random_() % 4 == 0 ? 1 : random_() % 40);
            step.cost_ns = random_() % 8 == 0 ? 500 : 1e6;
            for (uint32_t k = random_() % 4; k > 0 && i > 0; --k) {
                step.waits.push_back(int32_t(random_() % uint32_t(i)));
            }
            cells_.emplace_back(size_t(step.tile_count), 0);
        }
        steps.push_back({2, 2e6, {}});  // never inline
        cells_.emplace_back(2, 0);
        waits_ = steps;
        program_.emplace(std::move(compile_steps(steps, max_workers)).value());
        state_ = std::make_unique<ProgramState>(*program_);
        max_delay_us_ = random_() % 3 == 0 ? 50 : 0;
    }

    Status run(Executor& executor, const RunControl& control = {}) {
        ++expected_;
        workers_ = executor.worker_count();
        is_busy_ = std::make_unique<std::atomic<bool>[]>(size_t(workers_));
        return executor.run(*state_, {call, this}, control);
    }
    // After a run that failed: cells are anything.
    void forget() {
        for (auto& step : cells_) {
            std::fill(step.begin(), step.end(), expected_);
        }
        trouble_ = Trouble::kNone;
    }
    void cause(Trouble trouble) {
        trouble_ = trouble;
        trouble_step_ = int32_t(random_() % waits_.size());
    }
    // Every tile of every run so far ran once.
    ::testing::AssertionResult is_complete() const {
        for (size_t step = 0; step < cells_.size(); ++step) {
            for (size_t tile = 0; tile < cells_[step].size(); ++tile) {
                if (cells_[step][tile] != expected_) {
                    return ::testing::AssertionFailure()
                           << "step " << step << " tile " << tile << " ran " << cells_[step][tile]
                           << " times of " << expected_;
                }
            }
        }
        return ::testing::AssertionSuccess();
    }

  private:
    static bool call(void* self, TaskId step, TaskScope& scope) {
        Status status = static_cast<Workload*>(self)->run_tiles(int32_t(step), scope.tile_begin(),
                                                                scope.tile_end(), scope.worker());
        return status.ok() || scope.fail(std::move(status));
    }
    Status run_tiles(int32_t step, int64_t begin, int64_t end, int worker) {
        if (worker < 0 || worker >= workers_ || is_busy_[size_t(worker)].exchange(true)) {
            return Status(StatusCode::kInternal, "two threads are the same worker");
        }
        struct Leave {
            std::atomic<bool>& busy;
            ~Leave() { busy = false; }
        } leave{is_busy_[size_t(worker)]};
        return check_and_write(step, begin, end);
    }
    Status check_and_write(int32_t step, int64_t begin, int64_t end) {
        for (const int32_t wait : waits_[size_t(step)].waits) {
            for (const int cell : cells_[size_t(wait)]) {
                if (cell != expected_) {
                    return Status(StatusCode::kInternal, "a tile started before what it waits for");
                }
            }
        }
        if (max_delay_us_ > 0 && (int64_t{step} * 7 + begin) % 5 == 0) {
            std::this_thread::sleep_for(std::chrono::microseconds((step + begin) % max_delay_us_));
        }
        if (trouble_ != Trouble::kNone && step == trouble_step_) {
            if (trouble_ == Trouble::kException) {
                throw std::runtime_error("planned exception");
            }
            return Status(StatusCode::kInvalidArgument, "planned error");
        }
        for (int64_t tile = begin; tile < end; ++tile) {
            ++cells_[size_t(step)][size_t(tile)];
        }
        return {};
    }

    std::mt19937 random_;
    std::optional<Program> program_;
    std::unique_ptr<ProgramState> state_;
    std::vector<Step> waits_;
    std::vector<std::vector<int>> cells_;
    std::unique_ptr<std::atomic<bool>[]> is_busy_;  // by worker
    int workers_ = 0;
    int expected_ = 0;
    int max_delay_us_ = 0;
    Trouble trouble_ = Trouble::kNone;
    int32_t trouble_step_ = 0;
};

class SchedulerStress : public ::testing::TestWithParam<ThreadSource> {};
INSTANTIATE_TEST_SUITE_P(Sources, SchedulerStress, ::testing::ValuesIn(thread_sources()));

TEST_P(SchedulerStress, EveryTileRunsOnceAndAfterItsWaits) {
    for (const int threads : kThreadCounts) {
        const auto executor = make_executor(threads, true, GetParam());
        for (uint32_t seed = 0; seed < 40; ++seed) {
            Workload workload(seed, threads);
            for (int round = 0; round < 5; ++round) {
                const Status status = workload.run(*executor);
                ASSERT_TRUE(status.ok())
                    << threads << " threads, seed " << seed << ": " << status.message();
            }
            ASSERT_TRUE(workload.is_complete()) << threads << " threads, seed " << seed;
        }
    }
}

void run_into_trouble(Executor& executor, Workload& workload, Workload::Trouble trouble) {
    workload.cause(trouble);
    const Status status = workload.run(executor);
    if (!status.ok()) {  // ok: the step has no tile
        EXPECT_EQ(status.code(), trouble == Workload::Trouble::kError ? StatusCode::kInvalidArgument
                                                                      : StatusCode::kUserException)
            << status.message();
    }
    workload.forget();
}

// A stop token and a deadline end the run, whichever comes first, or it completes before both.
void run_until_stopped(Executor& executor, Workload& workload, uint32_t seed) {
    std::stop_source stop;
    RunControl control;
    control.stop = stop.get_token();
    control.deadline = std::chrono::steady_clock::now() + std::chrono::microseconds(seed * 20);
    std::thread stopper([&stop, seed] {
        std::this_thread::sleep_for(std::chrono::microseconds(seed * 13 % 300));
        stop.request_stop();
    });
    const Status status = workload.run(executor, control);
    stopper.join();
    if (!status.ok()) {
        EXPECT_TRUE(status.code() == StatusCode::kCancelled ||
                    status.code() == StatusCode::kTimeout)
            << status.message();
    }
    workload.forget();
}

TEST_P(SchedulerStress, StateWorksAgainAfterErrorsExceptionsAndStops) {
    for (const int threads : kThreadCounts) {
        const auto executor = make_executor(threads, true, GetParam());
        for (uint32_t seed = 0; seed < 30; ++seed) {
            Workload workload(seed, threads);
            run_into_trouble(*executor, workload, Workload::Trouble::kError);
            run_into_trouble(*executor, workload, Workload::Trouble::kException);
            run_until_stopped(*executor, workload, seed);
            ASSERT_TRUE(workload.run(*executor).ok());
            ASSERT_TRUE(workload.is_complete()) << threads << " threads, seed " << seed;
        }
    }
}

TEST_P(SchedulerStress, ConcurrentRunsShareTheHelpers) {
    const auto executor = make_executor(4, true, GetParam());
    std::vector<std::thread> callers;
    for (uint32_t caller = 0; caller < 20; ++caller) {  // more than runs that helpers can join
        callers.emplace_back([&executor, caller] {
            Workload workload(1000 + caller, 4);
            for (int round = 0; round < 20; ++round) {
                const Status status = workload.run(*executor);
                ASSERT_TRUE(status.ok()) << status.message();
            }
            ASSERT_TRUE(workload.is_complete());
        });
    }
    for (std::thread& caller : callers) {
        caller.join();
    }
}

TEST_P(SchedulerStress, ExecutorsComeAndGoWhileOthersRun) {
    std::vector<std::thread> owners;
    for (uint32_t owner = 0; owner < 4; ++owner) {
        owners.emplace_back([owner] {
            for (uint32_t round = 0; round < 15; ++round) {
                const auto executor = make_executor(2 + int(owner), false, GetParam());
                Workload workload(owner * 100 + round, 8);
                const Status status = workload.run(*executor);
                ASSERT_TRUE(status.ok()) << status.message();
                ASSERT_TRUE(workload.is_complete());
            }
        });
    }
    for (std::thread& owner : owners) {
        owner.join();
    }
}

// Every tile of the outer program runs a program of its own on the same executor.
struct Outer {
    Executor* executor = nullptr;
    std::vector<std::unique_ptr<Workload>> inner;  // by tile

    static bool run_tiles(void* self, TaskId, TaskScope& scope) {
        const auto& outer = *static_cast<const Outer*>(self);
        for (int64_t tile = scope.tile_begin(); tile < scope.tile_end(); ++tile) {
            Status status = outer.inner[size_t(tile)]->run(*outer.executor);
            if (!status.ok()) {
                return scope.fail(std::move(status));
            }
        }
        return true;
    }
};

TEST_P(SchedulerStress, TilesRunOtherPrograms) {
    for (const int threads : {2, 4}) {
        const auto executor = make_executor(threads, true, GetParam());
        Outer outer{executor.get(), {}};
        for (uint32_t tile = 0; tile < 32; ++tile) {
            outer.inner.push_back(std::make_unique<Workload>(2000 + tile, threads));
        }
        const Program program = std::move(compile_steps({{32, 1e7, {}}}, threads)).value();
        ProgramState state(program);
        for (int round = 0; round < 5; ++round) {
            const Status status = executor->run(state, {Outer::run_tiles, &outer});
            ASSERT_TRUE(status.ok()) << status.message();
        }
        for (const auto& workload : outer.inner) {
            ASSERT_TRUE(workload->is_complete());
        }
    }
}

}  // namespace
}  // namespace leat::scheduler
