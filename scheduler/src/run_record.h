// RunRecord: what the runs of one ProgramState measured.
//
// Thread-safe for the workers of a run (add_wait, add_task); the rest by
// the thread that owns the run.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <vector>

#include "leat/scheduler/executor.h"

namespace leat::scheduler {

class RunRecord {
  public:
    using Clock = std::chrono::steady_clock;

    // Task times are kept only for traced programs.
    RunRecord(int64_t tasks, bool keeps_times) : times_ns_(keeps_times ? size_t(tasks) : 0) {}

    // Time that a worker waited for others in this run.
    void add_wait(std::chrono::nanoseconds time) {
        if (time.count() > 0) {
            waited_ns_.fetch_add(time.count(), std::memory_order_relaxed);
        }
    }
    bool keeps_times() const { return !times_ns_.empty(); }
    // One call of a task, whose tiles several workers may have; `begin` and `end` of the clock.
    void add_task(TaskId task, int worker, Clock::time_point begin, Clock::time_point end) {
        (void)worker;
        times_ns_[size_t(task)].fetch_add((end - begin).count(), std::memory_order_relaxed);
    }
    void end_run(double wall_ns, int workers) {
        const auto waited = double(waited_ns_.exchange(0, std::memory_order_relaxed));
        const double share = wall_ns > 0 ? waited / (wall_ns * workers) : 0;
        ++stats_.runs;
        const double weight = stats_.runs < int64_t(kMemory) ? double(stats_.runs) : kMemory;
        stats_.wall_ns += (wall_ns - stats_.wall_ns) / weight;
        stats_.imbalance += (share - stats_.imbalance) / weight;
        stats_.advises_recompile = stats_.runs >= kLeastRuns && stats_.imbalance > kMostImbalance;
    }
    const RunStats& stats() const { return stats_; }
    // Mean of all complete runs; Task::kUnknownCost before the first.
    std::vector<double> times_ns() const {
        std::vector<double> times;
        times.reserve(times_ns_.size());
        for (const std::atomic<int64_t>& sum : times_ns_) {
            times.push_back(stats_.runs > 0
                                ? double(sum.load(std::memory_order_relaxed)) / double(stats_.runs)
                                : Task::kUnknownCost);
        }
        return times;
    }

  private:
    static constexpr double kMemory = 8;  // runs that a mean remembers
    static constexpr int64_t kLeastRuns = 8;
    static constexpr double kMostImbalance = 0.1;

    std::atomic<int64_t> waited_ns_{0};
    RunStats stats_;
    std::vector<std::atomic<int64_t>> times_ns_;  // by task, of all runs
};

}  // namespace leat::scheduler
