// Constants that a memory has no room for, streamed through a window.
//
// A streamed constant stays with the host. Each run copies it to the device, where it has a place
// like any value of the run: from its copy to the last part that reads it. The places that streamed
// constants have one after the other are the window:
//
//   capacity >= constants that stay + requests * (values of the run + window), at any time
//
//   copies   | w0 | w1 |        | w2 |        | w3 |        w2 is copied into the place of w0,
//   parts         | part 0 | part 1      | part 2      | part 3      when part 0 has ended
//
// A part needs all its operands at once, so parts are cut before tasks that read such constants,
// and the parts of a device that streams run in one fixed order, by which the memory plan proves
// that places may be shared. Pure functions; every search is bounded by steps.
#pragma once

#include <optional>
#include <vector>

#include "partition/domain_memory.h"
#include "partition/partition_problem.h"

namespace leat {

struct StreamedPartitions {
    // Different choices and cuts; all fit every memory that had too little, by an estimate that
    // counts each value from its copy, or the begin of its part, to the end of its last part.
    std::vector<Partition> candidates;
    // Where there are none: the least that is missing.
    std::optional<MemoryShortage> shortage;
};

// The same tasks on the same units, with constants of domains that are too small streamed and their
// parts cut. No candidates and no shortage: every memory has enough.
StreamedPartitions stream_constants(const PartitionProblem& problem, const Partition& partition);

// Some memory is too small for the partition as it is, where one task runs after the other in its
// order.
bool needs_streaming(const PartitionProblem& problem, const Partition& partition);

// Streamed constants as values that are there from the start, which task 0 stands for: one more for
// each, in their order.
PartitionProblem with_streamed_values(const PartitionProblem& problem, const Partition& partition);

}  // namespace leat
