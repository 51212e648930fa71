// Streamed constants on problems of integers: what may be in the memory at a time is worked out
// here from the orders alone.
#include "partition/streaming/streamed_constants.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <vector>

#include "base/split_mix.h"
#include "partition/streaming/streaming_search.h"

namespace leat {
namespace {

constexpr int32_t kDeviceUnit = 1;
constexpr int32_t kDeviceDomain = 1;

// start (host) --> tasks of the device, each of which reads one or two before it and a constant -->
// end (host). Few constants are read twice.
PartitionProblem random_problem(uint64_t seed, int32_t tasks) {
    SplitMix random(seed);
    PartitionProblem problem;
    problem.task_count = tasks + 2;
    problem.domain_count = 2;
    problem.units = {{"host", kHostDomain, 1, false, 0}, {"device", kDeviceDomain, 1, true, 10}};
    const double never = PartitionProblem::kCannotRun;
    for (int32_t task = 0; task < problem.task_count; ++task) {
        const bool is_end = task == 0 || task == tasks + 1;
        problem.cost_ns.insert(problem.cost_ns.end(), {is_end ? 0 : never, is_end ? never : 1000});
        problem.values.push_back({task, 256});
        if (task > 0) {
            problem.uses.push_back({task - 1 - random.below(std::min(task, 3)), task});
        }
        if (is_end) {
            continue;
        }
        const bool is_shared = !problem.constant_bytes.empty() && random.below(8) == 0;
        const auto constants = int32_t(problem.constant_bytes.size());
        if (!is_shared) {
            problem.constant_bytes.push_back(int64_t{256} * (1 + random.below(40)));
        }
        problem.constant_uses.push_back({is_shared ? random.below(constants) : constants, task});
    }
    problem.values.pop_back();
    problem.links = {{5, 1e9, true}};
    problem.link_between = {scheduler::PlacementProblem::kNoLink, 0, 0,
                            scheduler::PlacementProblem::kNoLink};
    problem.may_stream.assign(problem.constant_bytes.size() * 2, true);
    problem.capacity_bytes = {0, 0};
    return problem;
}

Partition one_part(const PartitionProblem& problem) {
    Partition partition;
    partition.unit_of_task.assign(size_t(problem.task_count), kDeviceUnit);
    partition.part_of_task.assign(size_t(problem.task_count), 0);
    for (const int32_t end : {0, problem.task_count - 1}) {
        partition.unit_of_task[size_t(end)] = 0;
        partition.part_of_task[size_t(end)] = kNoPart;
    }
    partition.part_count = 1;
    return partition;
}

int64_t constant_bytes(const PartitionProblem& problem) {
    int64_t bytes = 0;
    for (const int64_t own : problem.constant_bytes) {
        bytes += own;
    }
    return bytes;
}

// By part: its place in the order that `part_orders` fix.
std::vector<int32_t> positions_of(const Partition& partition) {
    std::vector<int32_t> positions(size_t(partition.part_count), 0);
    for (const auto& [before, after] : partition.part_orders) {
        positions[size_t(partition.part_of_task[size_t(after)])] =
            positions[size_t(partition.part_of_task[size_t(before)])] + 1;
    }
    return positions;
}

// The constants that may be there while the part at this place runs: whose copies may have begun.
int64_t bytes_while_running(const PartitionProblem& problem,
                            const Partition& partition,
                            int32_t position) {
    const std::vector<int32_t> positions = positions_of(partition);
    const auto position_of = [&](int32_t task) {
        return positions[size_t(partition.part_of_task[size_t(task)])];
    };
    int64_t bytes = constant_bytes(problem);
    for (const StreamedConstant& stream : partition.streamed) {
        int32_t last = -1;
        for (const ConstantUse& use : problem.constant_uses) {
            last = use.constant == stream.constant ? std::max(last, position_of(use.task)) : last;
        }
        const bool may_be_there =
            (stream.after_task == kNoTask || position_of(stream.after_task) < position) &&
            last >= position;
        bytes -= may_be_there ? 0 : problem.constant_bytes[size_t(stream.constant)];
    }
    return bytes;
}

TEST(StreamedConstants, NeverNeedMoreThanTheCapacity) {
    int streamed = 0;
    for (uint64_t seed = 1; seed <= 100; ++seed) {
        SCOPED_TRACE(seed);
        PartitionProblem problem = random_problem(seed, 5 + int32_t(seed) / 2);
        const int64_t all_bytes = constant_bytes(problem);
        problem.capacity_bytes[kDeviceDomain] = all_bytes * (2 + int64_t(seed) % 7) / 10 + 8192;
        const StreamedPartitions found = stream_constants(problem, one_part(problem));
        for (const Partition& candidate : found.candidates) {
            EXPECT_EQ(candidate.part_orders.size() + 1, size_t(candidate.part_count));
            for (int32_t position = 0; position < candidate.part_count; ++position) {
                EXPECT_LE(bytes_while_running(problem, candidate, position),
                          problem.capacity_bytes[kDeviceDomain]);
            }
            EXPECT_TRUE(schedule_queues(problem, candidate, QueueSearch::kLook).ok());
        }
        streamed += found.candidates.empty() ? 0 : 1;
        EXPECT_TRUE(found.candidates.empty() || !found.shortage);
    }
    EXPECT_GE(streamed, 50);
}

TEST(StreamedConstants, AreNoneWhereThereIsRoom) {
    PartitionProblem problem = random_problem(1, 20);
    problem.capacity_bytes[kDeviceDomain] = constant_bytes(problem) + 16384;
    const StreamedPartitions found = stream_constants(problem, one_part(problem));
    EXPECT_TRUE(found.candidates.empty());
    EXPECT_FALSE(found.shortage.has_value());
    EXPECT_FALSE(needs_streaming(problem, one_part(problem)));
}

TEST(StreamedConstants, StayWhereTheyMayNotBeOperands) {
    PartitionProblem problem = random_problem(2, 20);
    problem.capacity_bytes[kDeviceDomain] = constant_bytes(problem) / 2 + 8192;
    std::fill(problem.may_stream.begin(), problem.may_stream.end(), false);
    const StreamedPartitions found = stream_constants(problem, one_part(problem));
    EXPECT_TRUE(found.candidates.empty());
    ASSERT_TRUE(found.shortage.has_value());
    EXPECT_GT(found.shortage->short_bytes(), 0);
    // Half of them may.
    for (size_t i = 0; i < problem.may_stream.size(); i += 4) {
        problem.may_stream[i + kDeviceDomain] = true;
    }
    problem.capacity_bytes[kDeviceDomain] = constant_bytes(problem) * 9 / 10;
    const StreamedPartitions some = stream_constants(problem, one_part(problem));
    ASSERT_FALSE(some.candidates.empty());
    for (const StreamedConstant& stream : some.candidates[0].streamed) {
        EXPECT_EQ(stream.constant % 2, 0);
    }
}

// Of all that may be chosen, by the stream of three requests, which is not always what one request
// is soonest with.
TEST(StreamedConstants, AreChosenByThePeriodOfAStream) {
    constexpr int32_t kInFlight = 3;
    int others = 0;
    for (uint64_t seed = 1; seed <= 20; ++seed) {
        SCOPED_TRACE(seed);
        PartitionProblem problem = random_problem(seed, 20);
        problem.request_count = kInFlight;
        problem.capacity_bytes[kDeviceDomain] = constant_bytes(problem) / 2 + int64_t{3} * 8192;
        const Partition whole = one_part(problem);
        const auto schedule_of = [&](const Partition& partition) {
            return *schedule_queues(problem, partition, QueueSearch::kLook, kInFlight);
        };
        const std::vector<Partition> candidates = stream_constants(problem, whole).candidates;
        QueueSchedule soonest;  // of one request
        double least_ns = 0;
        for (const Partition& candidate : candidates) {
            const QueueSchedule schedule = schedule_of(candidate);
            const bool is_first = &candidate == candidates.data();
            least_ns = is_first ? schedule.period_ns : std::min(least_ns, schedule.period_ns);
            if (is_first || schedule.makespan_ns < soonest.makespan_ns) {
                soonest = schedule;
            }
        }
        const auto choice = choose_streaming(problem, {{"one part", whole}}, kInFlight);
        ASSERT_TRUE(choice.ok() && choice->has_partition() != candidates.empty());
        EXPECT_LE(choice->schedule.period_ns, least_ns * (1 + 1e-6));
        others += soonest.period_ns > least_ns * 1.01 ? 1 : 0;
    }
    EXPECT_GT(others, 0);
}

// Copies wait for room, and parts for copies.
TEST(StreamedConstants, AreCopiedBetweenTheirPartsInTheForecast) {
    PartitionProblem problem = random_problem(3, 30);
    problem.capacity_bytes[kDeviceDomain] = constant_bytes(problem) / 3 + 8192;
    const Result<StreamingChoice> choice =
        choose_streaming(problem, {{"one part", one_part(problem)}});
    ASSERT_TRUE(choice.ok() && choice->has_partition());
    const Partition& partition = choice->partition;
    const auto time_of = [&](int32_t task) {
        return choice->schedule.time_of_group[size_t(choice->schedule.group_of_task[size_t(task)])];
    };
    size_t copies = 0;
    for (const QueueMove& move : choice->schedule.moves) {
        const auto stream = size_t(move.value) - problem.values.size();
        if (size_t(move.value) < problem.values.size()) {
            continue;
        }
        ++copies;
        const StreamedConstant& own = partition.streamed[stream];
        if (own.after_task != kNoTask) {
            EXPECT_GE(move.time.begin_ns, time_of(own.after_task).end_ns);
        }
        for (const ConstantUse& use : problem.constant_uses) {
            if (use.constant == own.constant) {
                EXPECT_LE(move.time.end_ns, time_of(use.task).begin_ns);
            }
        }
    }
    EXPECT_EQ(copies, partition.streamed.size());
    EXPECT_GT(copies, 0U);
}

}  // namespace
}  // namespace leat
