// Placing and dividing by cost, on problems of integers. Parts are checked here without code of the
// library, and small problems against trying every partition.
#include "partition/cost_partition.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

#include "leat/scheduler/placement.h"
#include "partition/part_merging.h"
#include "support/exact_placement.h"
#include "support/partition_corpus.h"
#include "support/placement_corpus.h"

namespace leat {
namespace {

using scheduler::CorpusGraph;
using scheduler::PlacementProblem;
using scheduler::Schedule;
using ::testing::ElementsAre;

constexpr int32_t kHost = 0;
constexpr int32_t kDevice = 1;

CostPartition partitioned(const PartitionProblem& problem) {
    Result<CostPartition> found = partition_by_cost(problem, {});
    EXPECT_TRUE(found.ok()) << found.error().message();
    return found.ok() ? *std::move(found) : CostPartition();
}

// Empty: every task runs on a unit that can run it, and in a part if the unit has such.
std::string misplaced_task(const PartitionProblem& problem, const Partition& partition) {
    for (size_t task = 0; task < size_t(problem.task_count); ++task) {
        const auto unit = size_t(partition.unit_of_task[task]);
        if (!std::isfinite(problem.cost_ns[task * problem.units.size() + unit])) {
            return "task " + std::to_string(task) + " cannot run where it is";
        }
        if ((partition.part_of_task[task] >= 0) != problem.units[unit].runs_parts) {
            return "task " + std::to_string(task) + " is in no part, or in one of the host";
        }
    }
    return {};
}

// By task: the first task of its part, or itself.
std::vector<size_t> leaders_of(const Partition& partition) {
    std::vector<size_t> leaders;
    for (size_t task = 0; task < partition.part_of_task.size(); ++task) {
        const int32_t part = partition.part_of_task[task];
        const auto first =
            std::find(partition.part_of_task.begin(), partition.part_of_task.end(), part);
        leaders.push_back(part < 0 ? task : size_t(first - partition.part_of_task.begin()));
    }
    return leaders;
}

// Empty: parts are of one unit, and no path leaves a part and comes back, alone or through other
// parts. With a matrix of what reaches what: slow, and nothing of the library.
std::string breach(const PartitionProblem& problem, const Partition& partition) {
    if (std::string misplaced = misplaced_task(problem, partition); !misplaced.empty()) {
        return misplaced;
    }
    const std::vector<size_t> leader = leaders_of(partition);
    const size_t count = leader.size();
    std::vector<std::vector<bool>> reaches(count, std::vector<bool>(count));
    for (const scheduler::PlacementUse& use : problem.uses) {
        const size_t from = leader[size_t(problem.values[size_t(use.value)].producer)];
        const size_t to = leader[size_t(use.reader)];
        reaches[from][to] = reaches[from][to] || from != to;
    }
    for (size_t via = 0; via < count; ++via) {
        for (size_t from = 0; from < count; ++from) {
            for (size_t to = 0; reaches[from][via] && to < count; ++to) {
                reaches[from][to] = reaches[from][to] || reaches[via][to];
            }
        }
    }
    for (size_t task = 0; task < count; ++task) {
        if (partition.unit_of_task[task] != partition.unit_of_task[leader[task]]) {
            return "the part of task " + std::to_string(task) + " is on two units";
        }
        if (reaches[task][task]) {
            return "the group of task " + std::to_string(task) + " waits for itself";
        }
    }
    return {};
}

double exact_ns(const PlacementProblem& problem) {
    Result<Schedule> known = scheduler::place(problem);
    EXPECT_TRUE(known.ok());
    return scheduler::exact_schedule(problem, *known).makespan_ns;
}

// The least makespan of all units and all ways to divide the device's tasks into parts.
double best_of_all_ns(const PartitionProblem& problem) {
    double best_ns = std::numeric_limits<double>::infinity();
    Partition partition;
    partition.unit_of_task.assign(size_t(problem.task_count), kHost);
    partition.part_of_task.assign(size_t(problem.task_count), kNoPart);
    const std::function<void(size_t)> choose = [&](size_t task) {
        if (task == partition.unit_of_task.size()) {
            if (breach(problem, partition).empty()) {
                best_ns = std::min(best_ns, exact_ns(grouped_problem(problem, partition).problem));
            }
            return;
        }
        partition.unit_of_task[task] = kHost;
        partition.part_of_task[task] = kNoPart;
        choose(task + 1);
        partition.unit_of_task[task] = kDevice;
        const int32_t parts = partition.part_count;
        for (int32_t part = 0; part <= parts; ++part) {
            partition.part_of_task[task] = part;
            partition.part_count = std::max(parts, part + 1);
            choose(task + 1);
        }
        partition.part_count = parts;
    };
    choose(0);
    return best_ns;
}

// One task after the other, each of 10 ns on either unit, but for one that takes long on the host.
PartitionProblem long_chain(int32_t tasks, int32_t slow_task) {
    PartitionProblem problem;
    problem.task_count = tasks;
    problem.domain_count = 2;
    problem.units = {{"host", 0, 1, false, 0}, {"device", 1, 1, true, 1}};
    for (int32_t task = 0; task < tasks; ++task) {
        problem.cost_ns.insert(problem.cost_ns.end(), {task == slow_task ? 1e6 : 10, 10});
        if (task > 0) {
            problem.values.push_back({task - 1, 1});
            problem.uses.push_back({task - 1, task});
        }
    }
    problem.links = {{100, 1e9, true}};
    problem.link_between = {scheduler::PlacementProblem::kNoLink, 0, 0,
                            scheduler::PlacementProblem::kNoLink};
    return problem;
}

KnownPartitions all_on_known(int32_t unit, int32_t tasks, bool is_enough) {
    Partition partition;
    partition.unit_of_task.assign(size_t(tasks), unit);
    partition.part_of_task.assign(size_t(tasks), unit == kDevice ? 0 : kNoPart);
    partition.part_count = unit == kDevice ? 1 : 0;
    return {"known", {partition}, std::vector<bool>(size_t(tasks)), is_enough};
}

CostPartition partitioned_near(const PartitionProblem& problem, const KnownPartitions& known) {
    Result<CostPartition> found = partition_by_cost(problem, {}, {&known, true});
    EXPECT_TRUE(found.ok()) << found.error().message();
    return found.ok() ? *std::move(found) : CostPartition();
}

// All on the host takes 1 ms and 10 us; nothing but the slow task may go.
TEST(CostPartition, SearchesNearWhatIsKnown) {
    constexpr int32_t kTasks = 1'000;
    constexpr int32_t kSlow = 700;
    const PartitionProblem problem = long_chain(kTasks, kSlow);
    KnownPartitions known = all_on_known(kHost, kTasks, true);
    const CostPartition fixed = partitioned_near(problem, known);
    EXPECT_EQ(fixed.found_by, "known");
    EXPECT_EQ(fixed.partition.unit_of_task, std::vector<int32_t>(kTasks, kHost));
    EXPECT_TRUE(fixed.proposals.empty());
    known.may_move[kSlow] = true;
    const CostPartition moved = partitioned_near(problem, known);
    std::vector<int32_t> units(kTasks, kHost);
    units[kSlow] = kDevice;
    EXPECT_EQ(moved.partition.unit_of_task, units);
    EXPECT_DOUBLE_EQ(moved.schedule.makespan_ns, 10.0 * kTasks + 2 * 101 + 1);
}

// Where that is not said to be enough, the result is the better one of both searches.
TEST(CostPartition, TriesAllElseBesideWhatIsKnown) {
    const PartitionProblem problem = long_chain(40, 20);
    const CostPartition found = partitioned_near(problem, all_on_known(kHost, 40, false));
    EXPECT_LE(found.schedule.makespan_ns, partitioned(problem).schedule.makespan_ns);
    EXPECT_EQ(found.partition.unit_of_task[20], kDevice);
}

//  0 (device) --> 1 (host) --> 2 (device): what was one part cannot be one
TEST(CostPartition, CutsKnownPartsThatWaitForThemselves) {
    const PartitionProblem problem = long_chain(3, -1);
    KnownPartitions known = all_on_known(kDevice, 3, true);
    known.partitions[0].unit_of_task[1] = kHost;
    known.partitions[0].part_of_task[1] = kNoPart;
    const CostPartition found = partitioned_near(problem, known);
    EXPECT_THAT(found.partition.unit_of_task, ElementsAre(kDevice, kHost, kDevice));
    EXPECT_THAT(found.partition.part_of_task, ElementsAre(0, kNoPart, 1));
    EXPECT_EQ(breach(problem, found.partition), "");
}

// A memory that is too small for what it is to hold is no reason to give up.
TEST(CostPartition, ChangesWhatIsKnownUntilItFits) {
    PartitionProblem problem = long_chain(40, 20);
    problem.constant_bytes = {100};
    problem.constant_uses = {{0, 30}};
    problem.capacity_bytes = {0, 50};
    const CostPartition found = partitioned_near(problem, all_on_known(kDevice, 40, true));
    EXPECT_FALSE(found.shortage);
    EXPECT_EQ(found.partition.unit_of_task[30], kHost);
    EXPECT_EQ(breach(problem, found.partition), "");
}

TaskEdges edges_of(int32_t task_count, const std::vector<std::pair<int32_t, int32_t>>& edges) {
    PartitionProblem problem;
    problem.task_count = task_count;
    for (const auto& [from, to] : edges) {
        problem.uses.push_back({int32_t(problem.values.size()), to});
        problem.values.push_back({from, 1});
    }
    return TaskEdges(problem);
}

//  0 --> 1 --> 2
TEST(PartMerger, RefusesWhatLeavesAndComesBack) {
    const TaskEdges edges = edges_of(3, {{0, 1}, {1, 2}});
    PartMerger merger(edges, std::vector<int32_t>{0, 1, 2});
    EXPECT_FALSE(merger.merge(0, 2));
    EXPECT_TRUE(merger.merge(0, 1));
    EXPECT_TRUE(merger.merge(0, 2));
    EXPECT_EQ(merger.group_of(0), merger.group_of(2));
}

//  0 --> 2    0 and 3 would wait for 1 and 2, and 1 and 2 for them
//  1 --> 3
TEST(PartMerger, RefusesPartsThatWaitForEachOther) {
    const TaskEdges edges = edges_of(4, {{0, 2}, {1, 3}});
    PartMerger merger(edges, std::vector<int32_t>{0, 1, 2, 3});
    EXPECT_TRUE(merger.merge(0, 3));
    EXPECT_FALSE(merger.merge(1, 2));
    EXPECT_TRUE(merger.stands_before(1, 0));
    EXPECT_TRUE(merger.stands_before(3, 2));
}

TEST(CostPartition, HasConvexPartsWhateverTheSubmitCosts) {
    for (const int32_t tasks : {12, 60, 150}) {
        for (const CorpusGraph& graph : scheduler::small_corpus(tasks, 4)) {
            for (const double submit_ns : {0.0, 10e3, 200e3}) {
                const PartitionProblem problem =
                    partition_problem(scheduler::corpus_problem(graph), submit_ns);
                const CostPartition found = partitioned(problem);
                EXPECT_EQ(breach(problem, found.partition), "") << "seed " << graph.seed;
                const GroupedProblem grouped = grouped_problem(problem, found.partition);
                const Status status = scheduler::check_schedule(grouped.problem, found.schedule);
                EXPECT_TRUE(status.ok()) << status.message();
            }
        }
    }
}

TEST(CostPartition, IsNearTheOptimumOfTwelveTasks) {
    for (const CorpusGraph& graph : scheduler::small_corpus(12, 30)) {
        const PlacementProblem corpus = scheduler::corpus_problem(graph);
        const double found_ns = partitioned(partition_problem(corpus, 0)).schedule.makespan_ns;
        EXPECT_LE(found_ns, 1.05 * exact_ns(corpus)) << "seed " << graph.seed;
    }
}

TEST(CostPartition, IsNearTheBestOfAllPartitions) {
    for (const int32_t tasks : {3, 5}) {
        for (const CorpusGraph& graph : scheduler::small_corpus(tasks, 4)) {
            for (const double submit_ns : {5e3, 40e3}) {
                const PartitionProblem problem =
                    partition_problem(scheduler::corpus_problem(graph), submit_ns);
                EXPECT_LE(partitioned(problem).schedule.makespan_ns, 1.05 * best_of_all_ns(problem))
                    << tasks << " tasks, seed " << graph.seed << ", submit " << submit_ns;
            }
        }
    }
}

TEST(CostPartition, IsNeverWorseThanSimpleRules) {
    double log_sum = 0;
    int count = 0;
    for (const CorpusGraph& graph : scheduler::large_corpus()) {
        if (graph.tasks > 400) {
            continue;
        }
        const PartitionProblem problem = partition_problem(scheduler::corpus_problem(graph), 0);
        const double found_ns = partitioned(problem).schedule.makespan_ns;
        const double rule_ns = serial_ns(problem, all_on(problem, kDevice));
        EXPECT_LE(found_ns, rule_ns) << "seed " << graph.seed;
        EXPECT_LE(found_ns, one_unit_ns(problem, kHost)) << "seed " << graph.seed;
        EXPECT_LE(found_ns, serial_ns(problem, min_cut_units(problem))) << "seed " << graph.seed;
        log_sum += std::log(rule_ns / found_ns);
        ++count;
    }
    EXPECT_GE(std::exp(log_sum / count), 1.5);
}

//  a --> b --> c    the device is twice as fast, but a submission takes as long as ten tasks
TEST(CostPartition, KeepsOnADeviceOnlyWhatPays) {
    PartitionProblem problem;
    problem.task_count = 3;
    problem.domain_count = 2;
    problem.units = {{"host", 0, 1, false, 0}, {"device", 1, 1, true, 20e3}};
    problem.cost_ns = {2e3, 1e3, 2e3, 1e3, 2e3, 1e3};
    problem.values = {{0, 4}, {1, 4}};
    problem.uses = {{0, 1}, {1, 2}};
    problem.links = {{100, 1e9, true}};
    problem.link_between = {-1, 0, 0, -1};
    EXPECT_THAT(partitioned(problem).partition.unit_of_task, ElementsAre(kHost, kHost, kHost));
    problem.units[kDevice].submit_ns = 500;
    const Partition cheap = partitioned(problem).partition;
    EXPECT_THAT(cheap.unit_of_task, ElementsAre(kDevice, kDevice, kDevice));
    EXPECT_THAT(cheap.part_of_task, ElementsAre(0, 0, 0));
}

//  a --> b --> c --> d    each reads a constant of 100 bytes; values of 10 bytes; the device is ten
//                         times as fast
PartitionProblem chain_with_constants(int64_t capacity_bytes) {
    PartitionProblem problem;
    problem.task_count = 4;
    problem.domain_count = 2;
    problem.units = {{"host", 0, 1, false, 0}, {"device", 1, 1, true, 10}};
    problem.cost_ns = {1000, 100, 1000, 100, 1000, 100, 900, 100};
    problem.values = {{0, 10}, {1, 10}, {2, 10}};
    problem.uses = {{0, 1}, {1, 2}, {2, 3}};
    problem.links = {{1, 1e9, true}};
    problem.link_between = {-1, 0, 0, -1};
    problem.capacity_bytes = {0, capacity_bytes};
    problem.constant_bytes = {100, 100, 100, 100};
    problem.constant_uses = {{0, 0}, {1, 1}, {2, 2}, {3, 3}};
    return problem;
}

TEST(DomainMemory, CountsConstantsOnceAndWhatIsAliveAtOnce) {
    PartitionProblem problem = chain_with_constants(0);
    Partition partition{{1, 1, 1, 1}, {0, 0, 0, 0}, 1};
    EXPECT_EQ(least_bytes(problem, partition, kDevice), 400);
    problem.constant_uses.push_back({0, 3});
    EXPECT_EQ(least_bytes(problem, partition, kDevice), 400);
    // b and c read and write 10 bytes each as parts of their own; a's result arrives by a copy.
    partition = {{0, 1, 1, 0}, {kNoPart, 0, 1, kNoPart}, 2};
    EXPECT_EQ(least_bytes(problem, partition, kDevice), 220);
    // What a gives stays while b runs, because d reads it.
    problem.uses.push_back({0, 3});
    partition = {{1, 1, 1, 1}, {0, 1, 2, 3}, 4};
    EXPECT_EQ(least_bytes(problem, partition, kDevice), 430);
}

TEST(DomainMemory, CountsLessOnTheHost) {
    PartitionProblem problem = chain_with_constants(0);
    problem.uses.push_back({0, 3});
    const Partition all_host{{0, 0, 0, 0}, {kNoPart, kNoPart, kNoPart, kNoPart}, 0};
    // What b gives stands over nothing, as d still reads what a gave; c writes over it.
    EXPECT_EQ(least_bytes(problem, all_host, kHost), 20);
    problem.host_bytes = {0, 10, 10};
    EXPECT_EQ(least_bytes(problem, all_host, kHost), 10);
}

TEST(DomainMemory, MovesWhatLosesLeast) {
    const PartitionProblem problem = chain_with_constants(330);
    const CostPartition found = partitioned(problem);
    ASSERT_FALSE(found.shortage.has_value());
    EXPECT_LE(least_bytes(problem, found.partition, kDevice), 330);
    EXPECT_THAT(found.partition.unit_of_task, ElementsAre(kDevice, kDevice, kDevice, kHost));
    EXPECT_EQ(breach(problem, found.partition), "");
}

// Constants once, values for each request.
TEST(DomainMemory, CountsEveryRequest) {
    PartitionProblem problem = chain_with_constants(0);
    problem.request_count = 5;
    const Partition partition{{0, 1, 1, 0}, {kNoPart, 0, 1, kNoPart}, 2};
    EXPECT_EQ(least_bytes(problem, partition, kDevice), 200 + 5 * 20);
    problem.capacity_bytes[kDevice] = 299;
    const std::optional<MemoryShortage> shortage = find_shortage(problem, partition);
    ASSERT_TRUE(shortage.has_value());
    EXPECT_EQ(shortage->needed_bytes, 300);
    problem.capacity_bytes[kDevice] = 300;
    EXPECT_FALSE(find_shortage(problem, partition).has_value());
}

// Where one request leaves a, b and c on the device, eight have room for two of them.
TEST(DomainMemory, MovesMoreForSeveralRequests) {
    PartitionProblem problem = chain_with_constants(330);
    EXPECT_THAT(partitioned(problem).partition.unit_of_task,
                ElementsAre(kDevice, kDevice, kDevice, kHost));
    problem.request_count = 8;
    const CostPartition found = partitioned(problem);
    ASSERT_FALSE(found.shortage.has_value());
    const std::vector<int32_t>& units = found.partition.unit_of_task;
    EXPECT_EQ(std::count(units.begin(), units.end(), kDevice), 2);
    EXPECT_LE(least_bytes(problem, found.partition, kDevice), 330);
    EXPECT_EQ(breach(problem, found.partition), "");
}

TEST(DomainMemory, SaysHowMuchIsMissing) {
    PartitionProblem problem = chain_with_constants(150);
    for (size_t task = 0; task < 4; ++task) {
        problem.cost_ns[2 * task] = PartitionProblem::kCannotRun;
    }
    problem.constant_bytes[2] = 120;
    const CostPartition found = partitioned(problem);
    ASSERT_TRUE(found.shortage.has_value());
    EXPECT_EQ(found.shortage->domain, kDevice);
    EXPECT_EQ(found.shortage->short_bytes(), 420 - 150);
    EXPECT_EQ(found.shortage->constant, 2);
}

TEST(DomainMemory, IsKeptToOnRandomGraphs) {
    for (const CorpusGraph& graph : scheduler::small_corpus(60, 3)) {
        PartitionProblem problem = partition_problem(scheduler::corpus_problem(graph), 5e3);
        const Partition free = partitioned(problem).partition;
        const int64_t needed_bytes = least_bytes(problem, free, kDevice);
        problem.capacity_bytes = {0, needed_bytes * 6 / 10};
        const CostPartition found = partitioned(problem);
        ASSERT_FALSE(found.shortage.has_value()) << "seed " << graph.seed;
        EXPECT_LE(least_bytes(problem, found.partition, kDevice), problem.capacity_bytes[1]);
        EXPECT_EQ(breach(problem, found.partition), "") << "seed " << graph.seed;
    }
}

TEST(CostPartition, IsTheSameEveryTime) {
    const PartitionProblem problem =
        partition_problem(scheduler::corpus_problem(scheduler::large_corpus()[3]), 10e3);
    const CostPartition first = partitioned(problem);
    const CostPartition second = partitioned(problem);
    EXPECT_EQ(first.partition.unit_of_task, second.partition.unit_of_task);
    EXPECT_EQ(first.partition.part_of_task, second.partition.part_of_task);
    EXPECT_EQ(first.schedule.makespan_ns, second.schedule.makespan_ns);
}

TEST(CostPartition, RefusesATaskThatNothingRuns) {
    PartitionProblem problem;
    problem.task_count = 1;
    problem.units = {{"host", 0, 1, false, 0}};
    problem.cost_ns = {PartitionProblem::kCannotRun};
    EXPECT_FALSE(partition_by_cost(problem, {}).ok());
}

}  // namespace
}  // namespace leat
