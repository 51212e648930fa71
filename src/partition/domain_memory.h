// What a partition needs of limited memories at least, and how to need less.
#pragma once

#include <cstdint>
#include <optional>

#include "partition/partition_problem.h"

namespace leat {

// A memory that is too small whatever the order of the run.
struct MemoryShortage {
    int32_t domain = 0;
    // A lower bound: constants, and for each request the values alive at its worst moment.
    int64_t needed_bytes = 0;
    int64_t capacity_bytes = 0;
    // The largest that is kept there: a constant or a value; -1.
    int32_t constant = -1;
    int32_t value = -1;

    int64_t short_bytes() const { return needed_bytes - capacity_bytes; }
};

// PartitionProblem::request_count requests need no less in the domain: each has memory of its own
// for its values. A part has all that it reads and gives at once. Infinite (the largest number)
// where parts wait for each other.
int64_t least_bytes(const PartitionProblem& problem, const Partition& partition, int32_t domain);

// The first domain whose bound exceeds its capacity.
std::optional<MemoryShortage> find_shortage(const PartitionProblem& problem,
                                            const Partition& partition);

// Moves tasks out of domains that are too small, first those that lose the least time for each byte
// that they take along; what is left of their parts is cut where they were. The shortage that
// stays, if any.
std::optional<MemoryShortage> move_until_it_fits(const PartitionProblem& problem,
                                                 Partition& partition);

}  // namespace leat
