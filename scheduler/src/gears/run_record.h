// RunRecord: what the runs of one ProgramState measured.
//
// Thread-safe for the workers of a run (add_wait, add_far_segment, add_call), and trace() for
// anybody except while begin_trace() runs; the rest by the thread that owns the run.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <vector>

#include "leat/scheduler/executor.h"
#include "trace/trace_buffer.h"

namespace leat::scheduler {

class RunRecord {
  public:
    // Times and events of tasks are kept only for traced programs, whose runs then allocate
    // nothing.
    explicit RunRecord(const Program::Impl& program);

    // Time that a worker waited for others in this run.
    void add_wait(std::chrono::nanoseconds time) {
        if (time.count() > 0) {
            waited_ns_.fetch_add(time.count(), std::memory_order_relaxed);
        }
    }
    // A thread of another domain went through a segment of a list, or ran a task that wished one.
    void add_far_segment() { far_segments_.fetch_add(1, std::memory_order_relaxed); }
    // Whether the program is traced.
    bool keeps_times() const { return !trace_.empty(); }
    // A run begins inside an outermost run that began at `begin_ns`: what was recorded in another
    // one is forgotten.
    void begin_trace(int64_t begin_ns);
    // One call of a task, whose tiles several workers may have; times of monotonic_ns().
    void add_call(TaskId task, const TaskScope& scope, int64_t begin_ns, int64_t end_ns) {
        times_ns_[size_t(task)].fetch_add(end_ns - begin_ns, std::memory_order_relaxed);
        trace_[size_t(scope.worker())]->record(int32_t(task), begin_ns, end_ns,
                                               {scope.tile_begin(), scope.tile_end()});
    }
    RunTrace trace() const;
    void end_run(double wall_ns, int workers) {
        const auto waited = double(waited_ns_.exchange(0, std::memory_order_relaxed));
        const double share = wall_ns > 0 ? waited / (wall_ns * workers) : 0;
        ++stats_.runs;
        const double weight = stats_.runs < int64_t(kMemory) ? double(stats_.runs) : kMemory;
        stats_.wall_ns += (wall_ns - stats_.wall_ns) / weight;
        stats_.imbalance += (share - stats_.imbalance) / weight;
        stats_.advises_recompile = stats_.runs >= kLeastRuns && stats_.imbalance > kMostImbalance;
    }
    RunStats stats() const {
        RunStats stats = stats_;
        stats.adopted_across_domains = far_segments_.load(std::memory_order_relaxed);
        return stats;
    }
    // Mean of all complete runs; Task::kUnknownCost before the first.
    std::vector<double> times_ns() const;

  private:
    static constexpr double kMemory = 8;  // runs that a mean remembers
    static constexpr int64_t kLeastRuns = 8;
    static constexpr double kMostImbalance = 0.1;

    std::atomic<int64_t> waited_ns_{0};
    std::atomic<int64_t> far_segments_{0};
    RunStats stats_;
    std::vector<std::atomic<int64_t>> times_ns_;       // by task, of all runs
    std::vector<std::unique_ptr<TraceBuffer>> trace_;  // by worker: who has its number writes
    int64_t trace_begin_ns_ = 0;
};

}  // namespace leat::scheduler
