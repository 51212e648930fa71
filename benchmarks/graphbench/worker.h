// Jobs that may crash or hang, run one after the other in a worker: a process that is made anew
// after each job that ended it. Several workers share the jobs between them.
//
// A worker, not a process for each job, because a Runtime and its devices take longer to start than
// most jobs take to run (docs/measurements/conformance.md).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>

#include "leat/runtime.h"
#include "options.h"

namespace leat::bench {

struct JobEnd {
    std::string result;   // what the job gave
    std::string failure;  // how the worker ended in it, or after it; empty: it did not
    int64_t time_ns = 0;  // from its begin to its end, seen from outside
};

struct WorkerJobs {
    using RunJob = std::function<std::string(size_t job)>;
    using RunAll = std::function<void(const RunJob& run)>;

    size_t count = 0;
    size_t workers = 1;  // how many run at a time; worker i has the jobs i, i + workers, ...
    // Of each job, and, where that is longer than a minute, of the worker's begin and end; 0: none.
    double limit_s = 0;
    // The worker's life: makes what jobs share, calls `run_all` once, and returns 0. Another number
    // is graphbench's exit code, before any job.
    std::function<int(const RunAll& run_all)> work;
    // In this process. Jobs of one worker come in order, those of several mixed.
    std::function<void(size_t job)> on_begin;
    std::function<void(size_t job, const JobEnd& end)> on_end;
};

// Runs all jobs in workers; an interruption ends them. The calling process must have no thread that
// holds a lock. Returns 0, or the exit code of a worker that ended before its first job, or of the
// interruption.
int run_in_workers(const WorkerJobs& jobs);

// The same in this process, without limit.
int run_here(const WorkerJobs& jobs);

// Jobs of a Runtime that has the options' backends: run(runtime, job), in workers with the options'
// limit, or, with --isolate off, here. Of `jobs` the count and the calls in this process are used.
int run_isolated(const Options& options,
                 const RuntimeOptions& wanted,
                 WorkerJobs jobs,
                 const std::function<std::string(const Runtime& runtime, size_t job)>& run);

}  // namespace leat::bench
