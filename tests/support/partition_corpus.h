// The placement corpus as problems with parts, and the rules that they are compared with.
#pragma once

#include <cstdint>
#include <vector>

#include "partition/partition_problem.h"

namespace leat {

// Unit 0 is the two CPU lanes, unit 1 the accelerator, which runs parts.
PartitionProblem partition_problem(const scheduler::PlacementProblem& corpus, double submit_ns);

// By task: the unit that runs it.
std::vector<int32_t> all_on(const PartitionProblem& problem, int32_t unit);
// Of the serial placement with the least sum of task and transfer times.
std::vector<int32_t> min_cut_units(const PartitionProblem& problem);

// One thing at a time: tasks, transfers, each value once to each domain, no submissions.
double serial_ns(const PartitionProblem& problem, const std::vector<int32_t>& unit_of_task);
// All tasks on the lanes of one unit, as the portfolio schedules them, no submissions.
double one_unit_ns(const PartitionProblem& problem, int32_t unit);

}  // namespace leat
