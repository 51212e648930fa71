#include "partition/streaming/streaming_search.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "partition/pipeline/stage_partitions.h"

namespace leat {
namespace {

// Pipelines whose constants are streamed.
constexpr size_t kMostTriedPipelines = 4;

bool may_be_short(const PartitionProblem& problem) {
    int64_t bytes = 0;
    for (const scheduler::PlacementValue& value : problem.values) {
        bytes += value.bytes;
    }
    for (const int64_t constant_bytes : problem.constant_bytes) {
        bytes += constant_bytes;
    }
    return std::any_of(
        problem.capacity_bytes.begin() + 1, problem.capacity_bytes.end(),
        [&](int64_t capacity) { return capacity > 0 && capacity < bytes * problem.request_count; });
}

}  // namespace

Result<StreamingChoice> choose_streaming(const PartitionProblem& problem,
                                         const std::vector<ProposedPartition>& partitions,
                                         int32_t requests_in_flight) {
    StreamingChoice choice;
    std::optional<MemoryShortage> shortage;
    for (const ProposedPartition& proposed : partitions) {
        StreamedPartitions streamed = stream_constants(problem, proposed.partition);
        if (streamed.shortage &&
            (!shortage || streamed.shortage->short_bytes() < shortage->short_bytes())) {
            shortage = streamed.shortage;
        }
        for (Partition& candidate : streamed.candidates) {
            LEAT_ASSIGN_OR_RETURN(
                QueueSchedule schedule,
                schedule_queues(problem, candidate, QueueSearch::kLook, requests_in_flight));
            if (!choice.has_partition() || comes_sooner(schedule, choice.schedule)) {
                choice.partition = std::move(candidate);
                choice.schedule = std::move(schedule);
                choice.found_by = proposed.name;
            }
        }
    }
    if (!choice.has_partition()) {
        choice.shortage = shortage;
        return choice;
    }
    LEAT_ASSIGN_OR_RETURN(
        QueueSchedule polished,
        schedule_queues(problem, choice.partition, QueueSearch::kPolish, requests_in_flight));
    if (comes_sooner(polished, choice.schedule)) {
        choice.schedule = std::move(polished);
    }
    return choice;
}

Result<StreamingChoice> stream_by_cost(const PartitionProblem& problem,
                                       const std::vector<ProposedPartition>& proposals,
                                       int32_t requests_in_flight) {
    if (problem.capacity_bytes.empty() || problem.may_stream.empty() || !may_be_short(problem)) {
        return StreamingChoice{};
    }
    PartitionProblem unlimited = problem;
    std::fill(unlimited.capacity_bytes.begin() + 1, unlimited.capacity_bytes.end(), 0);
    LEAT_ASSIGN_OR_RETURN(CostPartition found,
                          partition_by_cost(unlimited, proposals, {nullptr, false}));
    std::vector<ProposedPartition> partitions;
    if (!found.shortage) {
        partitions.push_back({std::move(found.found_by), std::move(found.partition)});
    }
    for (JudgedProposal& proposal : found.proposals) {
        if (!proposal.partition.unit_of_task.empty()) {
            partitions.push_back({std::move(proposal.name), std::move(proposal.partition)});
        }
    }
    if (requests_in_flight > 1) {
        for (ProposedPartition& stages : stage_partitions(unlimited, kMostTriedPipelines)) {
            partitions.push_back(std::move(stages));
        }
    }
    return choose_streaming(problem, partitions, requests_in_flight);
}

}  // namespace leat
