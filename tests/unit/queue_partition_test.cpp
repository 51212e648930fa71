// Placements by the Runtime's queues against the exact optimum, which shares no code with them, and
// against simple rules.
#include "partition/queue/queue_partition.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "support/exact_queues.h"
#include "support/partition_corpus.h"
#include "support/placement_corpus.h"
#include "support/queue_corpus.h"

namespace leat {
namespace {

using scheduler::CorpusGraph;

constexpr double kMostRatio = 1.05;
constexpr int64_t kNoLimitOfSteps = int64_t{1} << 40;

QueuePartition partitioned(const PartitionProblem& problem) {
    Result<QueuePartition> found = partition_by_queues(problem, {});
    EXPECT_TRUE(found.ok()) << found.error().message();
    return found.ok() ? *std::move(found) : QueuePartition();
}

std::string name_of(const QueueGraph& graph) {
    return "seed " + std::to_string(graph.seed) + ", " + std::to_string(graph.operators) +
           " operators, " + std::to_string(graph.devices) + " devices, ratio " +
           std::to_string(graph.transfer_ratio) + ", submission " +
           std::to_string(graph.submit_ns) + (graph.has_arena_device ? ", arena" : "");
}

// All kinds in turn.
QueueGraph graph_of_kind(uint64_t seed, int32_t operators) {
    constexpr double kRatios[] = {0.1, 0.5, 2};
    constexpr double kSubmits[] = {0, 2e3, 20e3};
    QueueGraph graph;
    graph.seed = seed;
    graph.operators = operators;
    graph.transfer_ratio = kRatios[seed % 3];
    graph.submit_ns = kSubmits[seed / 3 % 3];
    graph.devices = 1 + int32_t(seed / 9 % 2);
    graph.has_arena_device = seed / 18 % 2 == 1;
    return graph;
}

TEST(ExactQueues, AreWhatTryingEverythingFinds) {
    for (uint64_t seed = 0; seed < 72; ++seed) {
        const QueueGraph graph = graph_of_kind(seed, seed % 5 == 0 ? 3 : 2);
        SCOPED_TRACE(name_of(graph));
        const PartitionProblem problem = queue_problem(graph);
        const QueueOptimum found =
            exact_queues(problem, std::numeric_limits<double>::infinity(), kNoLimitOfSteps);
        EXPECT_TRUE(found.is_proved);
        EXPECT_DOUBLE_EQ(found.makespan_ns, brute_force_queues_ns(problem));
    }
}

// No placement is shorter than 1 / kMostRatio of what is found.
void expect_near_optimum(const QueueGraph& graph) {
    SCOPED_TRACE(name_of(graph));
    const PartitionProblem problem = queue_problem(graph);
    const QueuePartition found = partitioned(problem);
    EXPECT_NEAR(replayed_ns(problem, found.partition, found.schedule), found.schedule.makespan_ns,
                1e-6 * found.schedule.makespan_ns);
    const QueueOptimum shorter =
        exact_queues(problem, found.schedule.makespan_ns / kMostRatio, kNoLimitOfSteps);
    EXPECT_TRUE(std::isinf(shorter.makespan_ns))
        << "found " << found.schedule.makespan_ns << " ns, and there is " << shorter.makespan_ns
        << ": " << found.schedule.makespan_ns / shorter.makespan_ns;
    EXPECT_TRUE(shorter.is_proved);
}

TEST(QueuePartition, IsNearTheOptimumOfSmallGraphs) {
    for (uint64_t seed = 0; seed < 360; ++seed) {
        expect_near_optimum(graph_of_kind(seed, 1 + int32_t(seed % 8)));
    }
}

TEST(QueuePartition, IsNearTheOptimumOfTwelveOperators) {
    for (uint64_t seed = 1000; seed < 1144; ++seed) {
        expect_near_optimum(graph_of_kind(seed, 9 + int32_t(seed % 4)));
    }
}

TEST(QueuePartition, IsNeverLongerThanSimpleRules) {
    for (const CorpusGraph& graph : scheduler::small_corpus(100, 2)) {
        SCOPED_TRACE("seed " + std::to_string(graph.seed));
        const PartitionProblem problem =
            with_ends(partition_problem(scheduler::corpus_problem(graph), 0));
        const QueuePartition found = partitioned(problem);
        std::vector<int32_t> accelerator = all_on(problem, 1);
        accelerator.front() = accelerator.back() = 0;
        EXPECT_LE(found.schedule.makespan_ns, serial_ns(problem, accelerator));
        EXPECT_LE(found.schedule.makespan_ns, serial_ns(problem, all_on(problem, 0)));
        EXPECT_LE(found.schedule.makespan_ns, serial_ns(problem, min_cut_units(problem)));
        for (const NamedMakespan& simple : found.simple) {
            EXPECT_LE(found.schedule.makespan_ns, simple.makespan_ns) << simple.placement;
        }
        EXPECT_NEAR(replayed_ns(problem, found.partition, found.schedule),
                    found.schedule.makespan_ns, 1e-6 * found.schedule.makespan_ns);
    }
}

TEST(QueuePartition, IsTheSameEveryTime) {
    const PartitionProblem problem = queue_problem(graph_of_kind(31, 12));
    const QueuePartition first = partitioned(problem);
    const QueuePartition second = partitioned(problem);
    EXPECT_EQ(first.partition.unit_of_task, second.partition.unit_of_task);
    EXPECT_EQ(first.partition.part_of_task, second.partition.part_of_task);
    EXPECT_EQ(first.schedule.makespan_ns, second.schedule.makespan_ns);
}

}  // namespace
}  // namespace leat
