// Planning problems for tests: networks of steps with the buffers between them, and random ones.
// Deterministic: the same seed gives the same problem on every machine.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "memory/offsets/plan.h"

namespace leat::testing {

// Each step writes one buffer.
struct PlanningProblem {
    std::vector<std::vector<int32_t>> predecessors;  // by step
    std::vector<UsedBuffer> buffers;

    int32_t steps() const { return int32_t(predecessors.size()); }
};

enum class NetworkKind : uint8_t { kChain, kResidual, kInception, kDense, kTransformer, kUNet };
constexpr NetworkKind kNetworkKinds[] = {NetworkKind::kChain,       NetworkKind::kResidual,
                                         NetworkKind::kInception,   NetworkKind::kDense,
                                         NetworkKind::kTransformer, NetworkKind::kUNet};
std::string name_of(NetworkKind kind);

// A network of about so many steps, with sizes that shrink or stay as in the real ones.
PlanningProblem network_problem(NetworkKind kind, int32_t steps, uint64_t seed);

// Steps that wait for up to three random ones before; buffers used by random steps, of random sizes
// (some zero), alignments from 1 to 256, some kept.
PlanningProblem random_problem(int32_t steps, int32_t buffers, uint64_t seed);

// The same buffers with their lifetimes in the order of step numbers.
std::vector<PlannedBuffer> in_step_order(const PlanningProblem& problem);

}  // namespace leat::testing
