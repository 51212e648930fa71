// What depends on NUMA nodes, on a machine that has two with two CPUs each and one with memory
// only; see numa_test.sh. Bodies sleep: the machine may be an emulated one with fewer CPUs
// behind it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include "leat/scheduler/executor.h"
#include "leat/scheduler/task_graph.h"
#include "leat/scheduler/topology.h"

namespace leat::scheduler {
namespace {

using ::testing::ElementsAre;

constexpr int kTasks = 32;
constexpr int kRuns = 50;  // a helper may be late: a run without late ones comes within so many

void sleep_a_little() {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
}

// Where the calling thread of a run is decides which domain comes first.
void bind_to_cpu(int cpu) {
    cpu_set_t mask;
    CPU_ZERO(&mask);
    CPU_SET(cpu, &mask);
    ASSERT_EQ(sched_setaffinity(0, sizeof(mask), &mask), 0);
}

void bind_to_all_cpus() {
    cpu_set_t mask;
    CPU_ZERO(&mask);
    for (int cpu = 0; cpu < 4; ++cpu) {
        CPU_SET(cpu, &mask);
    }
    ASSERT_EQ(sched_setaffinity(0, sizeof(mask), &mask), 0);
}

int domain_of_cpu(const Executor& executor, int cpu) {
    const std::vector<ComputeDomain>& domains = executor.report().domains;
    for (size_t domain = 0; domain < domains.size(); ++domain) {
        const std::vector<int>& cpus = domains[domain].cpus;
        if (std::find(cpus.begin(), cpus.end(), cpu) != cpus.end()) {
            return int(domain);
        }
    }
    return -1;
}

// Where and by whom a task was run.
struct Place {
    int worker = -1;
    int cpu = -1;
};

TaskFunction record_in(std::vector<Place>& places) {
    return {[](void* context, TaskId task, TaskScope& scope) {
                (*static_cast<std::vector<Place>*>(context))[size_t(task)] = {scope.worker(),
                                                                              sched_getcpu()};
                sleep_a_little();
                return true;
            },
            &places};
}

class NumaTest : public ::testing::TestWithParam<ThreadSource> {
  protected:
    // The calling thread has been on a CPU of the domain, and stays there.
    static Executor executor_at_home_in(int cpu) {
        for (;;) {
            bind_to_cpu(cpu);
            bind_to_all_cpus();  // the executor asks which CPUs it may use
            Executor executor({.threads = 4, .source = GetParam()});
            bind_to_cpu(cpu);
            // Else the system has moved this thread in between.
            if (executor.report().worker_domains[0] == cpu / 2 || ++moves == kMostMoves) {
                return executor;
            }
        }
    }
    void TearDown() override { bind_to_all_cpus(); }

    static constexpr int kMostMoves = 20;
    static inline int moves = 0;
};
INSTANTIATE_TEST_SUITE_P(Sources,
                         NumaTest,
                         ::testing::Values(ThreadSource::kTbb, ThreadSource::kStdThread),
                         [](const auto& source) {
                             return source.param == ThreadSource::kTbb ? "tbb" : "std_thread";
                         });

TEST(NumaDomains, AreTheNodesWithTheirCpus) {
    const std::vector<ComputeDomain> domains = compute_domains();
    ASSERT_EQ(domains.size(), 2U);
    EXPECT_EQ(domains[0].numa_node, 0);
    EXPECT_THAT(domains[0].cpus, ElementsAre(0, 1));
    EXPECT_EQ(domains[1].numa_node, 1);
    EXPECT_THAT(domains[1].cpus, ElementsAre(2, 3));
    EXPECT_EQ(read_topology().numa_nodes, 2);
}

TEST_P(NumaTest, AnExecutorDealsItsWorkersOverTheDomains) {
    const Executor executor = executor_at_home_in(0);
    const ExecutorReport& report = executor.report();
    EXPECT_EQ(report.note, "");
    EXPECT_TRUE(report.pinned);
    EXPECT_EQ(report.domains.size(), 2U);
    EXPECT_THAT(report.worker_domains, ElementsAre(0, 0, 1, 1));
    const Executor other = executor_at_home_in(3);
    EXPECT_THAT(other.report().worker_domains, ElementsAre(1, 1, 0, 0));
}

TEST_P(NumaTest, HelpersRunOnCpusOfTheirDomain) {
    for (const int home : {0, 3}) {
        Executor executor = executor_at_home_in(home);
        TaskDag dag;
        for (int i = 0; i < kTasks; ++i) {
            dag.add({});
        }
        CompileOptions options;
        options.workers = 4;
        options.gear = Gear::kDynamic;
        ProgramState state(Program::compile(dag, options).value());
        std::vector<bool> has_come(4, false);
        for (int run = 0; run < kRuns && has_come != std::vector<bool>(4, true); ++run) {
            std::vector<Place> places(kTasks);
            ASSERT_TRUE(executor.run(state, record_in(places)).ok());
            for (const Place& place : places) {
                has_come[size_t(place.worker)] = true;
                EXPECT_EQ(domain_of_cpu(executor, place.cpu),
                          executor.report().worker_domains[size_t(place.worker)])
                    << "worker " << place.worker << " on CPU " << place.cpu;
            }
        }
        EXPECT_EQ(has_come, std::vector<bool>(4, true));
    }
}

// Most tasks where they wish to be: the best share of all runs.
double best_share(const Executor& executor,
                  const std::vector<std::vector<Place>>& runs,
                  const std::vector<int>& wishes) {
    double best = 0;
    for (const std::vector<Place>& places : runs) {
        int met = 0;
        for (size_t task = 0; task < places.size(); ++task) {
            met += int(domain_of_cpu(executor, places[task].cpu) == wishes[task]);
        }
        best = std::max(best, double(met) / double(places.size()));
    }
    return best;
}

constexpr Gear kGears[] = {Gear::kCompiled, Gear::kDynamic};
constexpr double kMost = 0.9;

TEST_P(NumaTest, TasksRunInTheDomainThatTheyWish) {
    for (const Gear gear : kGears) {
        Executor executor = executor_at_home_in(0);
        TaskDag dag;
        std::vector<int> wishes;
        for (int i = 0; i < kTasks; ++i) {
            wishes.push_back(i / 3 % 2);
            dag.add({.cost_ns = 2e6, .domain = wishes.back()});
        }
        CompileOptions options;
        options.workers = 4;
        options.gear = gear;
        options.worker_domains = executor.report().worker_domains;
        ProgramState state(Program::compile(dag, options).value());
        std::vector<std::vector<Place>> runs;
        for (int run = 0; run < kRuns && best_share(executor, runs, wishes) < kMost; ++run) {
            ASSERT_TRUE(executor.run(state, record_in(runs.emplace_back(size_t{kTasks}))).ok());
        }
        EXPECT_GE(best_share(executor, runs, wishes), kMost) << name_of(gear);
    }
}

TEST_P(NumaTest, NodesOfATaskGraphRunInTheirNumaNode) {
    for (const Gear gear : kGears) {
        Executor executor = executor_at_home_in(2);
        TaskGraph graph(GraphOptions{.gear = gear});
        std::vector<Place> places(kTasks);
        std::vector<int> wishes;
        for (int i = 0; i < kTasks; ++i) {
            wishes.push_back(i % 2);  // domains are in the order of the nodes
            graph
                .add(std::to_string(i),
                     [&places, i] {
                         places[size_t(i)].cpu = sched_getcpu();
                         sleep_a_little();
                     })
                .cost_ns(2e6)
                .on(Domain::numa_node(i % 2));
        }
        std::vector<std::vector<Place>> runs;
        for (int run = 0; run < kRuns && best_share(executor, runs, wishes) < kMost; ++run) {
            ASSERT_TRUE(graph.run(executor).ok());
            runs.push_back(places);
        }
        EXPECT_GE(best_share(executor, runs, wishes), kMost) << name_of(gear);
        EXPECT_THAT(graph.report().notes, ElementsAre(::testing::HasSubstr("32 nodes ask")));
    }
}

// A task for each list that waits until every domain has a thread, and a chain of tasks behind
// each.
class ChainsOfDomains {
  public:
    static constexpr int kWorkers = 4;
    static constexpr int kLength = 20;

    static Program program() {
        TaskDag dag;
        for (int task = 0; task < kWorkers * kLength; ++task) {
            dag.add({.cost_ns = 2e6});
            if (task >= kWorkers) {
                dag.precede(TaskId(task - kWorkers), TaskId(task));
            }
        }
        CompileOptions options;
        options.workers = kWorkers;
        options.gear = Gear::kCompiled;
        return Program::compile(dag, options).value();
    }
    explicit ChainsOfDomains(const Executor& executor) : executor_(executor) {}

    TaskFunction function() {
        return {[](void* self, TaskId task, TaskScope& scope) {
                    static_cast<ChainsOfDomains*>(self)->run(int(task), scope.worker());
                    return true;
                },
                this};
    }
    bool have_all_come() const { return has_come_[0] && has_come_[1]; }
    // Task starts on CPUs that are not of the worker's domain.
    int strays() const { return strays_; }

  private:
    void run(int task, int worker) {
        const int domain = executor_.report().worker_domains[size_t(worker)];
        if (domain_of_cpu(executor_, sched_getcpu()) != domain) {
            ++strays_;
        }
        has_come_[size_t(domain)] = true;
        for (int wait = 0; task < kWorkers && wait < kMostWaits && !have_all_come(); ++wait) {
            sleep_a_little();
        }
    }

    static constexpr int kMostWaits = 500;

    const Executor& executor_;
    std::atomic<bool> has_come_[2] = {false, false};
    std::atomic<int> strays_{0};
};

TEST_P(NumaTest, NothingIsAdoptedAcrossDomainsThatHaveThreads) {
    Executor executor = executor_at_home_in(0);
    ProgramState state(ChainsOfDomains::program());
    for (int run = 0; run < 5; ++run) {
        ChainsOfDomains chains(executor);
        ASSERT_TRUE(executor.run(state, chains.function()).ok());
        EXPECT_TRUE(chains.have_all_come());
        EXPECT_EQ(chains.strays(), 0);
    }
    EXPECT_EQ(state.run_stats().adopted_across_domains, 0);
}

}  // namespace
}  // namespace leat::scheduler
