// A series: one graph, one body, all executors interleaved, between two probes of the machine.
#pragma once

#include <string>
#include <vector>

#include "bench.h"

namespace leat::micro {

struct SeriesSpec {
    std::string section;
    std::string graph;  // one of graph_names()
    std::string body;   // "empty", "1us", "10us"
    int threads = 1;
    int32_t nodes = kFullNodes;
    int rounds = 5;
    int64_t budget_ns = 30'000'000;  // of timed runs, per executor and round
};

// Adds "wall" (ns a task) and, for bodies with a length, "efficiency" (ideal over measured time).
// Where the machine gives fewer cores than threads, says so, measures again, and marks the results
// if that does not help.
void run_series(Bench& bench, std::vector<Contestant>& contestants, const SeriesSpec& spec);

double body_length_ns(const std::string& body);

}  // namespace leat::micro
