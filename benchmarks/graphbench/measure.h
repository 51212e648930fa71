// Measuring: adaptive warm-up, then timed runs of one or several sessions in turn.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "leat/status.h"
#include "machine.h"
#include "options.h"
#include "session.h"
#include "statistics.h"

namespace leat::bench {

struct MeasureOptions {
    std::string warmup = "auto";
    int64_t min_time_ns = 3'000'000'000;
    int64_t max_time_ns = 60'000'000'000;
    int64_t min_runs = 50;
    int64_t exact_runs = 0;  // 0: by time
    int streams = 1;         // concurrent requests; limits on runs are of all together
    int64_t cool_down_ns = 0;
    double rate_per_s = 0;  // 0: closed loop
    bool poisson = false;
    int64_t think_ns = 0;
    int64_t deadline_ns = 0;
    bool cold_cache = false;
    bool progress = false;
};
Result<MeasureOptions> measure_options(const Options& options);

struct Measurement {
    std::vector<double> samples_ns;  // of all streams, in the order in which the runs ended
    int64_t warmup_runs = 0;
    int64_t missed_deadlines = 0;
    CpuUsage usage;        // over the timed runs (of all sessions when interleaved)
    int64_t timed_ns = 0;  // wall time in which this session's runs happened, mean of its streams
    bool interrupted = false;
    Status error;  // of a run, other than a missed deadline
};

// Measures the sessions in turns of about 0.2 s each (one turn when there is one). Results parallel
// to `sessions`. An interruption (there should be an InterruptGuard) ends it early with what was
// measured. Precondition: every session has `streams` requests.
std::vector<Measurement> measure(const std::vector<Session*>& sessions,
                                 const MeasureOptions& options);

}  // namespace leat::bench
