// Wished domains in the dynamic gear and lists of domains in the compiled one, with domains that
// this machine need not have.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include "gears/domain_stacks.h"
#include "gears/dynamic_program.h"
#include "leat/scheduler/executor.h"
#include "leat/scheduler/task_graph.h"

namespace leat::scheduler {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(DomainStacks, GiveTheNewestNodeOfADomainAndLevel) {
    DomainStacks stacks(2, 2, 10);
    EXPECT_FALSE(stacks.has_any());
    stacks.push(0, 0, 3);
    stacks.push(0, 0, 4);
    stacks.push(1, 0, 5);
    stacks.push(0, 1, 6);
    EXPECT_TRUE(stacks.has_any());
    EXPECT_EQ(stacks.pop(0, 0), 4U);
    EXPECT_EQ(stacks.pop(0, 0), 3U);
    EXPECT_EQ(stacks.pop(0, 0), DomainStacks::kNone);
    EXPECT_EQ(stacks.pop(1, 1), DomainStacks::kNone);
    EXPECT_EQ(stacks.pop(1, 0), 5U);
    EXPECT_TRUE(stacks.has_any());
    stacks.clear();
    EXPECT_FALSE(stacks.has_any());
    EXPECT_EQ(stacks.pop(0, 1), DomainStacks::kNone);
}

// A model: every node goes to one thread as often as it was pushed, and with what was written
// before; nodes come back.
TEST(DomainStacks, GiveEveryNodeToOneThread) {
    constexpr uint32_t kNodes = 8;
    constexpr int kRounds = 5000;
    DomainStacks stacks(1, 1, kNodes);
    std::vector<int> counts(kNodes, 0);  // of who has the node
    std::atomic<int> left{kNodes * kRounds};
    for (uint32_t node = 0; node < kNodes; ++node) {
        stacks.push(0, 0, node);
    }
    const auto use = [&](uint32_t node) {
        --left;
        if (++counts[node] < kRounds) {
            stacks.push(0, 0, node);
        }
    };
    const auto take = [&] {
        while (left.load() > 0) {
            const uint32_t node = stacks.pop(0, 0);
            if (node != DomainStacks::kNone) {
                use(node);
            }
        }
    };
    std::vector<std::thread> threads;
    threads.reserve(3);
    for (int i = 0; i < 3; ++i) {
        threads.emplace_back(take);
    }
    for (std::thread& thread : threads) {
        thread.join();
    }
    EXPECT_THAT(counts, ::testing::Each(kRounds));
}

DynamicProgram compile_dynamic(const TaskDag& dag, const std::vector<int>& worker_domains) {
    return DynamicProgram::make(CompactDag::make(dag).value(), worker_domains);
}

TEST(DynamicProgram, HasWishesOnlyWhereTheyHaveAnEffect) {
    TaskDag dag;
    dag.add({.domain = 1});
    dag.add({});
    EXPECT_THAT(compile_dynamic(dag, {0, 0, 1}).wished_domains, ElementsAre(1, -1));
    EXPECT_FALSE(compile_dynamic(dag, {0, 0, 1}).is_plain());
    EXPECT_TRUE(compile_dynamic(dag, {}).is_plain()) << "no domains";
    EXPECT_TRUE(compile_dynamic(dag, {0, 0, 2}).is_plain()) << "nobody is of domain 1";
    EXPECT_TRUE(compile_dynamic(dag, {1, 1}).is_plain()) << "everybody is";
    TaskDag unmovable;
    unmovable.add({.tile_count = 4, .domain = 1});
    unmovable.add({.affinity = Affinity::kCaller, .domain = 1});
    EXPECT_FALSE(compile_dynamic(unmovable, {0, 0, 1}).has_wishes());
}

constexpr int kTasks = 40;

// Workers 0 and 1 of domain 0, workers 2 and 3 of domain 1; in truth on any CPU.
class DomainTest : public ::testing::Test {
  protected:
    static ExecutorOptions options(int threads) {
        ExecutorOptions options;
        options.threads = threads;
        options.pin = false;
        options.source = ThreadSource::kStdThread;
        // CPUs that nobody is on, so that worker 0 is of the first domain.
        options.domains = {{0, {9'000, 9'001}}, {1, {9'002, 9'003}}};
        return options;
    }
    static ProgramState compile(const TaskDag& dag) {
        constexpr int kDomains[] = {0, 0, 1, 1};
        CompileOptions options;
        options.workers = 4;
        options.gear = Gear::kDynamic;
        options.worker_domains = kDomains;
        return ProgramState(Program::compile(dag, options).value());
    }
    static TaskFunction record_in(std::vector<int>& workers) {
        return {[](void* context, TaskId task, TaskScope& scope) {
                    (*static_cast<std::vector<int>*>(context))[size_t(task)] = scope.worker();
                    std::this_thread::sleep_for(std::chrono::microseconds(300));
                    return true;
                },
                &workers};
    }
    static double share_met(const std::vector<int>& workers) {
        double met = 0;
        for (size_t task = 0; task < workers.size(); ++task) {
            met += workers[task] / 2 == int(task) % 2 ? 1 : 0;
        }
        return met / double(workers.size());
    }
};

TEST_F(DomainTest, MostTasksRunWhereTheyWish) {
    Executor executor(options(4));
    ASSERT_THAT(executor.report().worker_domains, ElementsAre(0, 0, 1, 1));
    TaskDag dag;
    for (int task = 0; task < kTasks; ++task) {
        dag.add({.priority = Priority(task / 2 % 3), .domain = task % 2});
    }
    ProgramState state = compile(dag);
    double best = 0;
    for (int run = 0; run < 100 && best < 0.9; ++run) {  // helpers may come late
        std::vector<int> workers(kTasks);
        ASSERT_TRUE(executor.run(state, record_in(workers)).ok());
        best = std::max(best, share_met(workers));
    }
    EXPECT_GE(best, 0.9);
}

TEST_F(DomainTest, AWishIsNoReasonToStandStill) {
    TaskDag dag;
    for (int task = 0; task < kTasks; ++task) {
        dag.add({.domain = 1});
        if (task >= 2) {
            dag.precede(TaskId(task - 2), TaskId(task));
        }
    }
    for (const int threads : {1, 2}) {  // nobody of domain 1
        Executor executor(options(threads));
        ProgramState state = compile(dag);
        std::vector<int> workers(kTasks, -1);
        ASSERT_TRUE(executor.run(state, record_in(workers)).ok());
        EXPECT_THAT(workers,
                    ::testing::Each(::testing::AllOf(::testing::Ge(0), ::testing::Lt(threads))));
        EXPECT_EQ(state.run_stats().adopted_across_domains, kTasks);
        RunHandle handle = executor.start(state, record_in(workers));
        EXPECT_TRUE(handle.wait().ok());
    }
}

TEST_F(DomainTest, NodesOfATaskGraphRunInTheirNumaNode) {
    Executor executor(options(4));
    TaskGraph graph(GraphOptions{.gear = Gear::kDynamic});
    std::vector<int> workers(kTasks);
    for (int node = 0; node < kTasks; ++node) {
        graph
            .add(std::to_string(node),
                 [&workers, node](NodeScope& scope) {
                     workers[size_t(node)] = scope.worker();
                     std::this_thread::sleep_for(std::chrono::microseconds(300));
                 })
            .on(Domain::numa_node(node % 2));
    }
    double best = 0;
    for (int run = 0; run < 100 && best < 0.9; ++run) {
        ASSERT_TRUE(graph.run(executor).ok());
        best = std::max(best, share_met(workers));
    }
    EXPECT_GE(best, 0.9);
    EXPECT_THAT(graph.report().notes, ElementsAre(HasSubstr("run there, unless")));
}

// Four tasks that wait for each other, one in each list, and then a task of tiles that all share.
class Rendezvous {
  public:
    static constexpr int kWorkers = 4;
    static constexpr int64_t kTiles = 64;

    static Program program() {
        TaskDag dag;
        for (int task = 0; task < kWorkers; ++task) {
            dag.add({.cost_ns = 1e6});
        }
        dag.add({.cost_ns = 4e6, .tile_count = kTiles});
        for (int task = 0; task < kWorkers; ++task) {
            dag.precede(TaskId(task), TaskId(kWorkers));
        }
        CompileOptions options;
        options.workers = kWorkers;
        options.gear = Gear::kCompiled;
        return Program::compile(dag, options).value();
    }
    TaskFunction function() {
        return {[](void* self, TaskId task, TaskScope& scope) {
                    static_cast<Rendezvous*>(self)->run(int32_t(task), scope);
                    return true;
                },
                this};
    }
    // In most runs: a helper that was about to sleep may be late.
    bool have_all_come() const { return !is_missing_; }
    // The worker that ran each tile.
    const std::vector<int>& workers_of_tiles() const { return workers_; }

  private:
    void run(int32_t task, const TaskScope& scope) {
        if (task < kWorkers) {
            ++arrived_;
            const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(100);
            while (arrived_ < kWorkers && std::chrono::steady_clock::now() < end) {
                std::this_thread::yield();
            }
            if (arrived_ < kWorkers) {
                is_missing_ = true;
            }
            return;
        }
        for (int64_t tile = scope.tile_begin(); tile < scope.tile_end(); ++tile) {
            workers_[size_t(tile)] = scope.worker();
        }
    }

    std::atomic<int> arrived_{0};
    std::atomic<bool> is_missing_{false};
    std::vector<int> workers_ = std::vector<int>(kTiles, -1);
};

TEST_F(DomainTest, TilesStayInTheirDomainWhereItHasThreads) {
    Executor executor(options(4));
    ProgramState state(Rendezvous::program());
    int runs = 0;
    while (runs < 20) {
        Rendezvous rendezvous;
        const int64_t adopted = state.run_stats().adopted_across_domains;
        ASSERT_TRUE(executor.run(state, rendezvous.function()).ok());
        if (!rendezvous.have_all_come()) {
            continue;
        }
        ++runs;
        EXPECT_EQ(state.run_stats().adopted_across_domains, adopted);
        for (int64_t tile = 0; tile < Rendezvous::kTiles; ++tile) {
            EXPECT_EQ(rendezvous.workers_of_tiles()[size_t(tile)] / 2,
                      int(tile * 2 / Rendezvous::kTiles))
                << "tile " << tile;
        }
    }
}

// Independent tasks on all four lists.
ProgramState spread_over_lists(int tasks) {
    TaskDag dag;
    for (int task = 0; task < tasks; ++task) {
        dag.add({.cost_ns = 1e6});
    }
    CompileOptions options;
    options.workers = 4;
    options.gear = Gear::kCompiled;
    return ProgramState(Program::compile(dag, options).value());
}

// Until it goes, all three helpers of an executor are in its tasks.
class BusyHelpers {
  public:
    explicit BusyHelpers(Executor& executor) : state_(spread_over_lists(4)) {
        handle_ = executor.start(state_, {[](void* self, TaskId, TaskScope&) {
                                              static_cast<BusyHelpers*>(self)->wait();
                                              return true;
                                          },
                                          this});
        while (arrived_ < 3) {
            std::this_thread::yield();
        }
    }
    ~BusyHelpers() {
        may_go_ = true;
        EXPECT_TRUE(handle_.wait().ok());
    }
    BusyHelpers(const BusyHelpers&) = delete;
    BusyHelpers& operator=(const BusyHelpers&) = delete;

  private:
    void wait() {
        ++arrived_;
        while (!may_go_) {
            std::this_thread::yield();
        }
    }

    std::atomic<int> arrived_{0};
    std::atomic<bool> may_go_{false};
    ProgramState state_;
    RunHandle handle_;
};

TEST_F(DomainTest, ListsOfADomainWithoutThreadsAreAdoptedAfterATimeAndCounted) {
    Executor executor(options(4));
    const BusyHelpers busy(executor);
    ProgramState state = spread_over_lists(kTasks);
    std::vector<int> workers(kTasks, -1);
    const TaskFunction record = {[](void* context, TaskId task, TaskScope& scope) {
                                     (*static_cast<std::vector<int>*>(context))[size_t(task)] =
                                         scope.worker();
                                     return true;
                                 },
                                 &workers};
    const auto begin = std::chrono::steady_clock::now();
    ASSERT_TRUE(executor.run(state, record).ok());
    EXPECT_GE(std::chrono::steady_clock::now() - begin, std::chrono::microseconds(200));
    EXPECT_THAT(workers, ::testing::Each(0));
    EXPECT_GE(state.run_stats().adopted_across_domains, 2);  // both lists of domain 1
}

// In one domain it is not counted, and nobody waits.
TEST_F(DomainTest, ListsOfTheOwnDomainAreAdoptedUncounted) {
    ExecutorOptions one = options(4);
    one.domains = {{0, {9'000, 9'001, 9'002, 9'003}}};
    Executor executor(one);
    const BusyHelpers busy(executor);
    ProgramState state = spread_over_lists(kTasks);
    std::vector<int> workers(kTasks, -1);
    ASSERT_TRUE(executor.run(state, record_in(workers)).ok());
    EXPECT_THAT(workers, ::testing::Each(0));
    EXPECT_EQ(state.run_stats().adopted_across_domains, 0);
}

}  // namespace
}  // namespace leat::scheduler
