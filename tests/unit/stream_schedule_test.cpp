// The steady state of streams, and the pipelines that are proposed for them, on problems that one
// can work out by hand.
#include "partition/pipeline/stream_schedule.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "partition/pipeline/stage_partitions.h"
#include "partition/queue/queue_schedule.h"

namespace leat {
namespace {

using ::testing::DoubleEq;
using ::testing::ElementsAre;

constexpr int32_t kOne = 0;
constexpr int32_t kOther = 1;

StreamTask task(int32_t lane, double duration_ns, std::vector<StreamTask::Wait> waits = {}) {
    return {lane, duration_ns, std::move(waits)};
}

//  one: a, 10 --> other: b, 10
std::vector<StreamTask> two_stages() {
    return {task(kOne, 10), task(kOther, 10, {{0, false}})};
}

TEST(StreamPeriod, OfOneRequestIsItsMakespan) {
    EXPECT_THAT(stream_period_ns(two_stages(), 1), DoubleEq(20));
}

TEST(StreamPeriod, OfTwoEqualStagesIsThatOfOneStage) {
    EXPECT_THAT(stream_period_ns(two_stages(), 2), DoubleEq(10));
    EXPECT_THAT(stream_period_ns(two_stages(), 4), DoubleEq(10));
}

TEST(StreamPeriod, IsThatOfTheBusiestLaneWhereEnoughAreInFlight) {
    const std::vector<StreamTask> tasks = {task(kOne, 10), task(kOther, 25, {{0, false}}),
                                           task(kOne, 5, {{1, false}})};
    EXPECT_THAT(stream_period_ns(tasks, 1), DoubleEq(40));
    EXPECT_THAT(stream_period_ns(tasks, 2), DoubleEq(25));
    EXPECT_THAT(stream_period_ns(tasks, 3), DoubleEq(25));
}

// Two in flight are less than the three stages could take.
TEST(StreamPeriod, IsTheLatencyOverTheRequestsWhereTheyAreFew) {
    const std::vector<StreamTask> tasks = {task(0, 10), task(1, 10, {{0, false}}),
                                           task(2, 10, {{1, false}})};
    EXPECT_THAT(stream_period_ns(tasks, 2), DoubleEq(15));
    EXPECT_THAT(stream_period_ns(tasks, 3), DoubleEq(10));
}

// A part stands in line before its operand has come, and keeps others from going first:
//
//  other: copy, 10 --> one: part, 2      one: a, 10 (after the part was submitted)
TEST(StreamPeriod, CountsWhatStandsInLineForAnOperand) {
    const std::vector<StreamTask> tasks = {task(kOther, 10), task(kOne, 2, {{0, true}}),
                                           task(kOne, 10)};
    EXPECT_THAT(stream_period_ns(tasks, 1), DoubleEq(22));
    EXPECT_THAT(stream_period_ns(tasks, 2), DoubleEq(12));
}

TEST(StreamPeriod, IsNothingWhereNoTaskTakesTime) {
    EXPECT_THAT(stream_period_ns({}, 2), DoubleEq(0));
    EXPECT_THAT(stream_period_ns({{task(StreamTask::kNone, 0)}}, 2), DoubleEq(0));
}

// A host that runs nothing but the ends, and two equal devices:
//
//  start --> 1 --> 2 --> 3 --> 4 --> end      each of them 100, each value 5 to copy
PartitionProblem chain_problem() {
    constexpr double kNo = PartitionProblem::kCannotRun;
    PartitionProblem problem;
    problem.task_count = 6;
    problem.domain_count = 3;
    problem.units = {{"host", 0, 1, false, 0}, {"a", 1, 1, true, 1}, {"b", 2, 1, true, 1}};
    problem.cost_ns = {0, kNo, kNo};
    for (int i = 0; i < 4; ++i) {
        problem.cost_ns.insert(problem.cost_ns.end(), {kNo, 100, 100});
    }
    problem.cost_ns.insert(problem.cost_ns.end(), {0, kNo, kNo});
    for (int32_t i = 0; i < 5; ++i) {
        problem.values.push_back({i, 5});
        problem.uses.push_back({i, i + 1});
    }
    constexpr int32_t kNoLink = scheduler::PlacementProblem::kNoLink;
    problem.links = {{0, 1e9, true}, {0, 1e9, true}, {0, 1e9, true}};
    problem.link_between = {kNoLink, 0, 1, 0, kNoLink, 2, 1, 2, kNoLink};
    return problem;
}

TEST(StagePartitions, CutAChainInTwoEqualHalves) {
    const PartitionProblem problem = chain_problem();
    const std::vector<ProposedPartition> stages = stage_partitions(problem, 2);
    ASSERT_EQ(stages.size(), 2U);
    EXPECT_EQ(stages[0].name, "stages on a, b");
    EXPECT_THAT(stages[0].partition.unit_of_task, ElementsAre(0, 1, 1, 2, 2, 0));
    EXPECT_THAT(stages[0].partition.part_of_task, ElementsAre(-1, 0, 0, 1, 1, -1));
    EXPECT_THAT(busiest_ns(problem, stages[0].partition), DoubleEq(201));
    EXPECT_THAT(stages[1].partition.unit_of_task, ElementsAre(0, 2, 2, 1, 1, 0));
}

TEST(StagePartitions, AreLeftOutWhereTheyDoNotFit) {
    PartitionProblem problem = chain_problem();
    problem.capacity_bytes = {0, 6, 0};
    for (const ProposedPartition& stages : stage_partitions(problem, 100)) {
        EXPECT_FALSE(find_shortage(problem, stages.partition)) << stages.name;
    }
}

TEST(QueueSchedule, TellsThePeriodOfPipelines) {
    const PartitionProblem problem = chain_problem();
    const Partition halves = stage_partitions(problem, 1)[0].partition;
    Partition whole = halves;
    whole.unit_of_task = {0, 1, 1, 1, 1, 0};
    whole.part_of_task = {-1, 0, 0, 0, 0, -1};
    whole.part_count = 1;
    const QueueSchedule divided = *schedule_queues(problem, halves, QueueSearch::kLook, 3);
    const QueueSchedule undivided = *schedule_queues(problem, whole, QueueSearch::kLook, 3);
    EXPECT_THAT(divided.makespan_ns, DoubleEq(402 + 4 * 5));
    EXPECT_THAT(divided.period_ns, DoubleEq(201));
    EXPECT_THAT(undivided.makespan_ns, DoubleEq(401 + 2 * 5));
    EXPECT_THAT(undivided.period_ns, DoubleEq(401));
    EXPECT_TRUE(comes_sooner(divided, undivided));
    const QueueSchedule alone = *schedule_queues(problem, halves, QueueSearch::kLook);
    EXPECT_THAT(alone.period_ns, DoubleEq(alone.makespan_ns));
}

}  // namespace
}  // namespace leat
