// TaskGraph: several threads at one graph, and graphs that are destroyed while they run.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "leat/scheduler/task_graph.h"
#include "support/counted.h"

namespace leat::scheduler {
namespace {

using namespace std::chrono_literals;
using ::testing::AnyOf;
using testing_support::Counted;

class TaskGraphThreadsTest : public ::testing::TestWithParam<Gear> {
  protected:
    void TearDown() override { EXPECT_EQ(Counted::live(), 0) << "values leaked"; }

    GraphOptions options() const { return {.gear = GetParam()}; }

    Executor executor_{{.threads = 3, .pin = false, .source = ThreadSource::kStdThread}};
};

void wait_for_cancel(NodeScope& scope) {
    while (!scope.is_cancelled()) {
        std::this_thread::yield();
    }
}

void wait_until(const std::atomic<bool>& flag) {
    while (!flag) {
        std::this_thread::yield();
    }
}

// All at the same time, as far as that can be.
template <class... Functions>
void run_together(const Functions&... functions) {
    std::atomic<size_t> missing{sizeof...(functions)};
    std::array<std::thread, sizeof...(functions)> threads{std::thread([&missing, &functions] {
        --missing;
        while (missing > 0) {
            std::this_thread::yield();
        }
        functions();
    })...};
    for (std::thread& thread : threads) {
        thread.join();
    }
}

// --- one graph, several threads ---

// A graph that changes before each round is compiled by whoever comes first.
TEST_P(TaskGraphThreadsTest, OneOfTwoThreadsThatRunAGraphMayBeBusy) {
    TaskGraph graph(options());
    std::atomic<int> calls{0};
    const auto x = graph.add("x", [&] { return Counted(++calls); });
    int runs = 0;
    for (int round = 0; round < 300; ++round) {
        if (round < 100) {
            graph.add(
                "y", [](const Counted& v) { return v.number(); }, x);
        }
        std::array<Status, 2> statuses;
        run_together([&] { statuses[0] = graph.run(executor_); },
                     [&] { statuses[1] = graph.start(executor_).wait(); });
        for (const Status& status : statuses) {
            runs += status.ok() ? 1 : 0;
            EXPECT_THAT(status.code(), AnyOf(StatusCode::kOk, StatusCode::kBusy));
        }
        EXPECT_TRUE(statuses[0].ok() || statuses[1].ok());
    }
    EXPECT_EQ(calls, runs);
}

TEST_P(TaskGraphThreadsTest, EveryFunctionMayMeetARunOfAnotherThread) {
    TaskGraph graph(GraphOptions{.gear = GetParam(), .is_traced = true});
    const auto x = graph.source<Counted>("x");
    const auto y = graph.add(
        "y", [](const Counted& v) { return Counted(v.number() + 1); }, x);
    const auto one_of = [](const Status& status) {
        EXPECT_THAT(status.code(), AnyOf(StatusCode::kOk, StatusCode::kBusy, StatusCode::kNotFound,
                                         StatusCode::kInvalidArgument))
            << status.message();
    };
    constexpr int kRounds = 200;
    run_together(
        [&] {
            for (int i = 0; i < kRounds; ++i) {
                one_of(graph.set(x, Counted(i)));
                one_of(graph.run(executor_));  // an invalid argument where x has no value
            }
        },
        [&] {
            for (int i = 0; i < kRounds; ++i) {
                one_of(graph.set(x, Counted(i)));
                GraphRun run = graph.start(executor_);
                run.cancel();
                const Status status = run.wait();
                if (status.code() != StatusCode::kCancelled) {
                    one_of(status);
                }
            }
        },
        [&] {
            for (int i = 0; i < kRounds; ++i) {
                one_of(graph.take(y).error());
                one_of(graph.compile(executor_));
                one_of(graph.recompile());
                (void)graph.result(y);
                (void)graph.trace_json();
            }
        },
        [&] {
            for (int i = 0; i < kRounds; ++i) {
                Result<GraphInstance> instance = graph.make_instance(executor_);
                ASSERT_TRUE(instance.ok());
                ASSERT_TRUE(instance->set(x, Counted(i)).ok());
                ASSERT_TRUE(instance->run(executor_).ok());
                EXPECT_EQ(instance->take(y)->number(), i + 1);
            }
        });
}

TEST_P(TaskGraphThreadsTest, TwoThreadsSetDifferentSources) {
    TaskGraph graph(options());
    const auto x = graph.source<Counted>("x");
    const auto y = graph.source<Counted>("y");
    const auto sum = graph.add(
        "sum", [](const Counted& a, const Counted& b) { return a.number() + b.number(); }, x, y);
    for (int i = 0; i < 200; ++i) {
        run_together([&] { EXPECT_TRUE(graph.set(x, Counted(i)).ok()); },
                     [&] { EXPECT_TRUE(graph.set(y, Counted(1000)).ok()); });
        ASSERT_TRUE(graph.run(executor_).ok());
        run_together([&] { EXPECT_EQ(*graph.result(sum), 1000 + i); },
                     [&] { EXPECT_EQ(*graph.result(sum), 1000 + i); });
    }
}

// The cancellation of a run that has just ended does not meet the next one.
TEST_P(TaskGraphThreadsTest, AHandleCancelsItsOwnRunOnly) {
    TaskGraph graph(options());
    graph.add("a", [] {});
    for (int i = 0; i < 300; ++i) {
        GraphRun run = graph.start(executor_);
        run_together([&] { run.cancel(); },
                     [&] {
                         EXPECT_THAT(run.wait().code(),
                                     AnyOf(StatusCode::kOk, StatusCode::kCancelled));
                         EXPECT_TRUE(graph.run(executor_).ok());
                     });
    }
}

TEST_P(TaskGraphThreadsTest, SeveralThreadsWaitForOneRun) {
    TaskGraph graph(options());
    graph.add("a", [](NodeScope& scope) { wait_for_cancel(scope); });
    for (int i = 0; i < 50; ++i) {
        GraphRun run = graph.start(executor_);
        const auto wait = [&] { EXPECT_EQ(run.wait().code(), StatusCode::kCancelled); };
        run_together(wait, wait, [&] { run.cancel(); });
    }
}

// --- destroyed while it runs ---

// The thread that is in run() while the test destroys what it runs.
class Runner {
  public:
    template <class Graph>
    Runner(Graph& graph, Executor& executor, const std::atomic<bool>& has_begun)
        : thread_([this, &graph, &executor] { status_ = graph.run(executor); }) {
        wait_until(has_begun);
    }
    ~Runner() {
        thread_.join();
        EXPECT_EQ(status_.code(), StatusCode::kCancelled) << status_.message();
    }
    Runner(const Runner&) = delete;
    Runner& operator=(const Runner&) = delete;

  private:
    Status status_;
    std::thread thread_;
};

//  many --> never     "many" ask, are asked again and again, or are in the pool
TEST_P(TaskGraphThreadsTest, DestroyingAGraphThatAnotherThreadRunsCancelsAndWaits) {
    for (int round = 0; round < 30; ++round) {
        std::atomic<bool> has_begun{false};
        std::atomic<int> inside{0};
        std::atomic<int> ran{0};
        auto graph = std::make_unique<TaskGraph>(options());
        std::vector<Node<Counted>> many;
        for (int i = 0; i < 6; ++i) {
            const auto node = graph->add("ask", [&](NodeScope& scope) {
                ++inside;
                has_begun = true;
                wait_for_cancel(scope);
                --inside;
                return Counted(1);
            });
            many.push_back(round % 3 == 2 ? node.on(Domain::blocking()) : node);
        }
        graph->add(
            "never", [&](Values<Counted>) { ++ran; }, many);
        {
            const Runner runner(*graph, executor_, has_begun);
            graph.reset();
            EXPECT_EQ(inside, 0) << "nodes are waited for";
        }
        EXPECT_EQ(ran, 0);
        EXPECT_EQ(Counted::live(), 0);
    }
}

TEST_P(TaskGraphThreadsTest, DestroyingAnInstanceThatAnotherThreadRunsCancelsAndWaits) {
    std::atomic<bool> has_begun{false};
    TaskGraph graph(options());
    const auto x = graph.source<Counted>("x");
    graph.add(
        "ask",
        [&](NodeScope& scope, const Counted& v) {
            has_begun = true;
            wait_for_cancel(scope);
            return Counted(v.number());
        },
        x);
    for (int round = 0; round < 30; ++round) {
        has_begun = false;
        auto instance = std::make_unique<GraphInstance>(*graph.make_instance(executor_));
        ASSERT_TRUE(instance->set(x, Counted(1)).ok());
        const Runner runner(*instance, executor_, has_begun);
        if (round % 2 == 0) {
            instance.reset();
        } else {
            *instance = *graph.make_instance(executor_);
        }
    }
}

// What a node waits for ends as well: here for a graph that build(graph, has_begun) makes, and that
// would take 6 s or more.
template <class Build>
void destroy_inside(Executor& executor, const GraphOptions& options, const Build& build) {
    std::atomic<bool> has_begun{false};
    auto graph = std::make_unique<TaskGraph>(options);
    build(*graph, has_begun);
    const auto begin = std::chrono::steady_clock::now();
    {
        const Runner runner(*graph, executor, has_begun);
        graph.reset();
    }
    EXPECT_LT(std::chrono::steady_clock::now() - begin, 4s);
}

TEST_P(TaskGraphThreadsTest, DestroyingAGraphEndsTheLoopOfANode) {
    for (const Domain place : {Domain::any(), Domain::blocking()}) {
        destroy_inside(executor_, options(), [&](TaskGraph& graph, std::atomic<bool>& has_begun) {
            const auto step = [&](int64_t, int64_t) {
                has_begun = true;
                std::this_thread::sleep_for(1s);
            };
            graph
                .add("loop", [step](NodeScope& scope) { return scope.parallel_for(1000, 1, step); })
                .on(place);
        });
    }
}

void add_slow_steps(TaskGraph& graph, std::atomic<bool>& has_begun) {
    for (int i = 0; i < 1000; ++i) {
        graph.add("step", [&has_begun] {
            has_begun = true;
            std::this_thread::sleep_for(20ms);
        });
    }
}

TEST_P(TaskGraphThreadsTest, DestroyingAGraphEndsTheRunOfAnotherOneInANode) {
    for (const Domain place : {Domain::any(), Domain::blocking()}) {
        TaskGraph other(options());
        destroy_inside(executor_, options(), [&](TaskGraph& graph, std::atomic<bool>& has_begun) {
            add_slow_steps(other, has_begun);
            graph.add("around", [&](NodeScope& scope) { return other.run(scope.executor()); })
                .on(place);
        });
    }
}

TEST_P(TaskGraphThreadsTest, DestroyingAGraphEndsItsSubgraphs) {
    for (const Domain place : {Domain::any(), Domain::blocking()}) {
        destroy_inside(executor_, options(), [&](TaskGraph& graph, std::atomic<bool>& has_begun) {
            TaskGraph inner(options());
            const auto ask = [&](NodeScope& scope) {
                has_begun = true;
                wait_for_cancel(scope);
            };
            inner.add("ask", ask).on(place);
            graph.add_subgraph("inner", Subgraph(std::move(inner), Sources<>()));
        });
    }
}

// --- by one of its own nodes ---

TEST_P(TaskGraphThreadsTest, ANodeThatWaitsForItsOwnRunGetsAnError) {
    for (const bool is_in_pool : {false, true}) {
        TaskGraph graph(options());
        std::optional<GraphRun> run;
        std::atomic<bool> is_there{false};
        const auto wait = graph.add("wait", [&] {
            wait_until(is_there);
            return run->wait();
        });
        if (is_in_pool) {
            wait.on(Domain::blocking());
        }
        run = graph.start(executor_);
        is_there = true;
        const Status status = run->wait();
        EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
        EXPECT_EQ(status.node(), "wait");
    }
}

using TaskGraphDeathTest = TaskGraphThreadsTest;

TEST_P(TaskGraphDeathTest, OneThatIsDestroyedByItsOwnNodeSaysSo) {
    ::testing::FLAGS_gtest_death_test_style = "threadsafe";
    const char* const text = "broken precondition: a TaskGraph.* by a node of its own run";
    for (const bool is_in_pool : {false, true}) {
        const auto place = is_in_pool ? Domain::blocking() : Domain::any();
        EXPECT_DEATH(
            {
                auto graph = std::make_unique<TaskGraph>(options());
                graph->add("node", [&] { graph.reset(); }).on(place);
                (void)graph->run(executor_);
            },
            text);
        EXPECT_DEATH(
            {
                TaskGraph graph(options());
                std::optional<GraphRun> run;
                std::atomic<bool> is_there{false};
                graph
                    .add("node",
                         [&] {
                             wait_until(is_there);
                             run.reset();
                         })
                    .on(place);
                run = graph.start(executor_);
                is_there = true;
                std::this_thread::sleep_for(1h);
            },
            text);
        // In a loop, whose parts other threads run too, and in a run of another graph.
        EXPECT_DEATH(
            {
                auto graph = std::make_unique<TaskGraph>(options());
                std::atomic<int> parts{0};
                graph
                    ->add("node",
                          [&](NodeScope& scope) {
                              return scope.parallel_for(100, 1, [&](int64_t, int64_t) {
                                  if (++parts == 5) {
                                      graph.reset();
                                  }
                              });
                          })
                    .on(place);
                (void)graph->run(executor_);
            },
            text);
        EXPECT_DEATH(
            {
                auto graph = std::make_unique<TaskGraph>(options());
                graph
                    ->add("node",
                          [&](NodeScope& scope) {
                              TaskGraph inner(options());
                              inner.add("inner", [&] { graph.reset(); });
                              return inner.run(scope.executor());
                          })
                    .on(place);
                (void)graph->run(executor_);
            },
            text);
    }
}

INSTANTIATE_TEST_SUITE_P(Gears,
                         TaskGraphThreadsTest,
                         ::testing::Values(Gear::kInline, Gear::kCompiled, Gear::kDynamic),
                         [](const auto& info) { return std::string(name_of(info.param)); });
INSTANTIATE_TEST_SUITE_P(Gears,
                         TaskGraphDeathTest,
                         ::testing::Values(Gear::kDynamic),
                         [](const auto& info) { return std::string(name_of(info.param)); });

}  // namespace
}  // namespace leat::scheduler
