// Random placement problems, the same on every machine: two CPU lanes that share a memory, and an
// accelerator lane with its own.
#pragma once

#include <cstdint>
#include <vector>

#include "leat/scheduler/placement.h"

namespace leat::scheduler {

// Counts changes of the generator; results that are kept name it.
constexpr int kPlacementCorpusVersion = 2;

struct CorpusGraph {
    uint64_t seed = 0;
    int32_t tasks = 0;
    double transfer_ratio = 0;  // mean transfer time / mean task time over all lanes
};

// Layers of random width, sqrt(tasks) times 0.5, 1 or 2 on average; a task reads 1 to 4 values of
// the three layers before it. CPU costs 10 to 190 us; the accelerator is 0.5 to 8 times as fast,
// drawn for each task. Every task writes one value, which all its readers share. A coin decides
// between one link for each direction and one for both.
PlacementProblem corpus_problem(const CorpusGraph& graph);

// `count` graphs of `tasks` tasks with each of the transfer ratios 0.1, 0.5 and 2.
std::vector<CorpusGraph> small_corpus(int32_t tasks, int count);
// Ten graphs with each ratio, of 100 to 2,000 tasks.
std::vector<CorpusGraph> large_corpus();

}  // namespace leat::scheduler
