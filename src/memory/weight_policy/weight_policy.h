// Where packed weights go: for each constant a copy for every reader, a part for every reader, one
// copy, or pages in turn; what costs the least time in a cost model, within each domain's budget.
//
// The model (simulated: no machine was measured for it). A run's reads of weights take
//
//   read_ns = max of
//     a reader d   sum over its reads of  latency(d, m) + bytes / bandwidth(d, m)
//     a memory m   bytes read from it / its bandwidth
//     a link l     bytes through it / its bandwidth
//
// because the CPUs of a domain read one constant after the other, and domains run at the same time.
// What is read page by page from several memories counts in equal parts, of bytes and of latency.
// The latency counts once a read: within one the hardware prefetches.
// Limits by node and link as in the roofline model's ceilings (Williams, Waterman, Patterson,
// CACM 52(4), 2009); figures of machines in weight_machine.h.
//
// Of policies within a hundredth of the least time found, those with the least alone_ns are taken:
// the sum over constants of their read_ns alone, for operators that run one after the other. So
// weights stay near where they are read even where that is not the bottleneck.
//
// Pure functions. Equal inputs give equal answers, whatever the order of the constants.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "memory/weight_policy/weight_machine.h"

namespace leat {

enum class WeightPolicy : uint8_t {
    kPartition,   // for each reader the part that it reads
    kReplicate,   // for each reader a copy
    kInterleave,  // page by page on the readers' domains
    kHome,        // in one domain
};

// A domain whose CPUs read a constant.
struct WeightReader {
    MemoryDomainId domain{};  // that has CPUs
    double share = 1;         // of the constant's bytes in each read, in (0, 1]
};

struct WeightUse {
    int64_t bytes = 0;         // packed
    double reads_per_run = 1;  // of each reader
    // The readers' shares are different parts, each of which can be packed alone.
    bool is_dividable = false;
    std::vector<WeightReader> readers;  // each domain once; none: it is kept, not read
};

struct WeightDecision {
    WeightPolicy policy = WeightPolicy::kHome;
    MemoryDomainId home{};  // of kHome
    friend bool operator==(const WeightDecision&, const WeightDecision&) = default;
};

struct WeightPolicies {
    std::vector<WeightDecision> decisions;  // in the order of the uses
    // False: no assignment fits the budgets, or none was found within the steps; the decisions go
    // over them as little as a greedy choice can.
    bool fits = true;
    double read_ns = 0;                // of a run; simulated
    double alone_ns = 0;               // the same, each constant by itself
    std::vector<int64_t> taken_bytes;  // by domain
    int64_t steps = 0;                 // options tried; at most max_weight_steps()
};

// Bound of the search; never a matter of the clock. Where copies of everything fit, one look at
// each option is enough.
constexpr int64_t max_weight_steps(int64_t uses, int64_t domains) {
    return 650'000 + uses * (80 * (domains + 3) + 100);
}

// With one reader: its own memory, or where there is room. Shared by several: copies or parts where
// they fit, those first that save the most time for their bytes.
WeightPolicies choose_weight_policies(const WeightMachine& machine,
                                      std::span<const WeightUse> uses);

}  // namespace leat
