// What a domain has to have room for: its parts in the order in which they run there, the constants
// that they read and the values that they read and make. By an estimate that knows places of values
// only so far as devices have told of them.
#pragma once

#include <cstdint>
#include <vector>

#include "partition/partition_problem.h"

namespace leat {

// What a constant or value takes of a memory.
int64_t place_bytes(int64_t bytes);

// A constant in a domain.
struct ReadConstant {
    int32_t constant = 0;
    int64_t bytes = 0;  // of its place
    bool may_stream = false;
    int32_t first_task = 0;
    int32_t first_part = 0;  // in DomainParts
    int32_t last_part = 0;
};

// How long what a part reads from outside, and gives, is in use: the whole part long, or from the
// task that makes it to those that read it, as backends can tell (leat.operand_steps).
enum class OperandLife : uint8_t { kPart, kTasks };

// The parts of a domain in the order in which they run there, with what they read and make.
class DomainParts {
  public:
    DomainParts(const PartitionProblem& problem,
                const Partition& partition,
                const std::vector<int32_t>& rank_of_task,
                int32_t domain,
                OperandLife life);

    int32_t part_count() const { return int32_t(begins_.size()); }
    int32_t first_task(int32_t part) const { return tasks_[size_t(begins_[size_t(part)])]; }
    int32_t last_task(int32_t part) const { return tasks_[size_t(end_of(part))]; }
    // By first use.
    const std::vector<ReadConstant>& constants() const { return constants_; }

    // By part: what values take while it runs, at most, where one task runs after the other. Copies
    // to the domain are made when they are needed and those from there at once, or, where nothing
    // but the order of the parts is relied on, as early and as late as data allows.
    std::vector<int64_t> value_bytes(bool has_free_copies) const;

  private:
    bool is_here(int32_t task) const { return time_of_task_[size_t(task)] >= 0; }
    int32_t part_of(int32_t task) const {
        return part_of_time_[size_t(time_of_task_[size_t(task)])];
    }
    int32_t end_of(int32_t part) const {
        return part + 1 < part_count() ? begins_[size_t(part) + 1] - 1 : int32_t(tasks_.size()) - 1;
    }

    void add_value(const scheduler::PlacementValue& value,
                   const std::vector<int32_t>& readers,
                   bool has_free_copies,
                   std::vector<int64_t>& changes) const;
    void find_constants();

    const PartitionProblem& problem_;
    const int32_t domain_;
    const OperandLife life_;
    std::vector<int32_t> tasks_;         // by time
    std::vector<int32_t> time_of_task_;  // -1: it is elsewhere
    std::vector<int32_t> begins_;        // by part, the time of its first task
    std::vector<int32_t> part_of_time_;
    std::vector<ReadConstant> constants_;
};

}  // namespace leat
