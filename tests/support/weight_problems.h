// Problems of where weights go, and an exhaustive search to compare with. The model is evaluated
// here once more, from the formula in weight_policy.h, and shares no code with src/memory.
// Deterministic: the same seed gives the same problem on every machine.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "memory/weight_policy/weight_policy.h"

namespace leat::testing {

struct WeightProblem {
    WeightMachine machine;
    std::vector<WeightUse> uses;
};

// Up to `most_uses` constants on 2 to 4 domains, with shared links and memory-only nodes in some;
// budgets from too little for one copy of everything to enough for copies everywhere.
WeightProblem random_weight_problem(uint64_t seed, int most_uses);
// Random constants on a machine, with `budget_ratio` of their bytes in each domain.
std::vector<WeightUse> random_weight_uses(const WeightMachine& machine, int count, uint64_t seed);
void set_budgets(WeightProblem& problem, double budget_ratio);

// As Intel's Memory Latency Checker measured them, read only (weight_machine.h names the sources).
WeightMachine cascade_lake_machine();  // 2 sockets
WeightMachine epyc_9224_machine();     // 2 sockets of 2 nodes, and CXL memory beside the first

struct WeightTime {
    bool fits = true;
    double read_ns = 0;
    double alone_ns = 0;
    std::vector<int64_t> taken_bytes;  // by domain
};
WeightTime weight_time(const WeightProblem& problem, std::span<const WeightDecision> decisions);

// The least read_ns of all assignments that fit; none if none fits.
std::optional<double> exhaustive_weight_time(const WeightProblem& problem);

}  // namespace leat::testing
