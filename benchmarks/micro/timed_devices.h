// Simulated devices that keep real time, for benchmarks: their results are recorded in mode
// `compute` and replayed in mode `timed`, with the same placement.
#pragma once

#include <fmt/core.h>

#include <cstdlib>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "leat/leat.h"

namespace leat::micro {

using Settings = std::map<std::string, std::string, std::less<>>;

// What fails ends the program.
void need(const Status& status);
template <class T>
T needed(Result<T> result) {
    need(result.ok() ? Status() : result.error());
    return *std::move(result);
}

double median_of(std::vector<double> values);

struct Folders {
    std::string plugins;
    std::string recording;  // a file
};

// Three of different speeds, the median operator 2 ms on the fastest, on links of different speeds.
Settings unequal_devices();

enum class SimMode : uint8_t { kRecord, kReplay };

// Two threads.
Runtime runtime_of(const Folders& folders, Settings settings, SimMode mode);
// How graphs are placed by cost.
struct Placing {
    std::string devices;
    int requests_in_flight = 1;
    DivideOperators divide_operators = DivideOperators::kNever;
};
CompiledGraph compiled_by(const Runtime& runtime,
                          const Graph& graph,
                          const Placing& placing,
                          bool is_traced = false);
void bind_inputs(const CompiledGraph& compiled, Request& request);
// Runs the graph once, for the recording alone. Returns how long that took, in nanoseconds.
double record(const Folders& folders,
              const Settings& settings,
              const Graph& graph,
              const Placing& placing);
double timed_ns(Request& request);

struct TimedRuns {
    double record_ns = 0;
    double median_ns = 0;
    GraphPlacement placement;
};
// Records one run, and replays it so often.
TimedRuns timed_runs(const Folders& folders,
                     const Settings& settings,
                     const Graph& graph,
                     const Placing& placing,
                     int runs);

}  // namespace leat::micro
