// Wished domains in the dynamic gear, with domains that this machine need not have.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include "domain_stacks.h"
#include "dynamic_program.h"
#include "leat/scheduler/executor.h"
#include "leat/scheduler/task_graph.h"

namespace leat::scheduler {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

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
    EXPECT_THAT(counts, testing::Each(kRounds));
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
class DomainTest : public testing::Test {
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
        EXPECT_THAT(workers, testing::Each(testing::AllOf(testing::Ge(0), testing::Lt(threads))));
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

}  // namespace
}  // namespace leat::scheduler
