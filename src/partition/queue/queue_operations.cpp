#include "partition/queue/queue_operations.h"

#include <algorithm>

namespace leat {
namespace {

constexpr int32_t kHostLane = 0;  // that of the first unit

}  // namespace

QueueOperations::QueueOperations(const PartitionProblem& problem, const Partition& partition)
    : problem_(problem), are_outside_(values_outside_arena(problem, partition)) {
    GroupedProblem grouped = grouped_problem(problem, partition);
    add_groups(grouped);
    group_of_task_ = std::move(grouped.group_of_task);
    for (const auto& [before, after] : partition.part_orders) {
        edges_.emplace_back(group_of_task_[size_t(before)], group_of_task_[size_t(after)]);
    }
    add_values(grouped);
    add_streams(partition.streamed);
    std::sort(edges_.begin(), edges_.end());
}

bool QueueOperations::is_upload(int32_t operation) const {
    const QueueMove& move = moves_[size_t(operation - group_count_)];
    return move.is_to_device && move.domain != kHostDomain;
}

bool QueueOperations::is_nothing(int32_t operation) const {
    return is_group(operation) && cost_ns_[size_t(operation)] == 0 &&
           domain_of_group(operation) == kHostDomain;
}

void QueueOperations::add_groups(const GroupedProblem& grouped) {
    const std::vector<int32_t> lane_units = unit_of_lanes(problem_);
    const size_t lanes = lane_units.size();
    group_count_ = grouped.problem.task_count;
    for (int32_t group = 0; group < group_count_; ++group) {
        const double* costs = grouped.problem.cost_ns.data() + size_t(group) * lanes;
        const auto own =
            size_t(std::find_if(costs, costs + lanes,
                                [](double cost) { return cost != PartitionProblem::kCannotRun; }) -
                   costs);
        lane_of_.push_back(lane_units[own]);
        cost_ns_.push_back(costs[own]);
    }
}

// The operation that has the value in that memory.
int32_t QueueOperations::add_move(int32_t value, int32_t domain, bool is_to_device, int32_t after) {
    const int32_t operation = count();
    const int32_t from = is_to_device ? kHostDomain : domain;
    const int32_t to = is_to_device ? domain : kHostDomain;
    lane_of_.push_back(int32_t(problem_.units.size()) + domain - 1);
    cost_ns_.push_back(problem_.copy_ns(value, from, to));
    moves_.push_back({value, domain, is_to_device, 0, {}});
    edges_.emplace_back(after, operation);
    return operation;
}

// By the host's lane.
int32_t QueueOperations::add_arena_copy(int32_t value, int32_t after) {
    const int32_t operation = count();
    lane_of_.push_back(kHostLane);
    cost_ns_.push_back(problem_.arena_copy_ns(value));
    moves_.push_back({value, kHostDomain, true, 0, {}});
    edges_.emplace_back(after, operation);
    return operation;
}

// A part in the host's memory that reads a value from outside of the arena.
bool QueueOperations::needs_arena_copy(int32_t value, int32_t reader) const {
    const PartitionUnit& unit = problem_.units[size_t(lane_of_[size_t(reader)])];
    return unit.runs_parts && unit.domain == kHostDomain && are_outside_[size_t(value)];
}

// The uses of a value stand together.
void QueueOperations::add_values(const GroupedProblem& grouped) {
    int32_t home = kHostDomain;
    int32_t last = -1;
    int32_t arena_copy = -1;
    std::map<int32_t, int32_t> operation_in;  // that has the value there, by domain
    for (const scheduler::PlacementUse& use : grouped.problem.uses) {
        const int32_t value = grouped.value_of[size_t(use.value)];
        if (value != std::exchange(last, value)) {
            const int32_t producer = grouped.problem.values[size_t(use.value)].producer;
            home = domain_of_group(producer);
            operation_in = {{home, producer}};
            arena_copy = -1;
        }
        int32_t operation = brought_to(domain_of_group(use.reader), value, home, operation_in);
        if (needs_arena_copy(value, use.reader)) {
            arena_copy = arena_copy < 0 ? add_arena_copy(value, operation) : arena_copy;
            operation = arena_copy;
        }
        edges_.emplace_back(operation, use.reader);
    }
}

// The last values are those of the streamed constants.
void QueueOperations::add_streams(const std::vector<StreamedConstant>& streamed) {
    const size_t first = problem_.values.size() - streamed.size();
    for (size_t i = 0; i < moves_.size(); ++i) {
        const auto value = size_t(moves_[i].value);
        const int32_t after = value < first ? kNoTask : streamed[value - first].after_task;
        if (after != kNoTask) {
            edges_.emplace_back(group_of_task_[size_t(after)], group_count_ + int32_t(i));
        }
    }
}

int32_t QueueOperations::brought_to(int32_t domain,
                                    int32_t value,
                                    int32_t home,
                                    std::map<int32_t, int32_t>& operation_in) {
    if (const auto there = operation_in.find(domain); there != operation_in.end()) {
        return there->second;
    }
    if (domain == kHostDomain) {
        return operation_in[kHostDomain] = add_move(value, home, false, operation_in.at(home));
    }
    const int32_t after = brought_to(kHostDomain, value, home, operation_in);
    return operation_in[domain] = add_move(value, domain, true, after);
}

}  // namespace leat
