// TaskGraph: errors, cancellation, runs at the same time, nested loops, traces.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <new>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "leat/scheduler/task_graph.h"
#include "support/counted.h"

namespace leat::scheduler {
namespace {

using namespace std::chrono_literals;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::Not;
using testing_support::Counted;

class TaskGraphRunTest : public ::testing::TestWithParam<Gear> {
  protected:
    void TearDown() override { EXPECT_EQ(Counted::live(), 0) << "values leaked"; }

    GraphOptions options() const { return {.gear = GetParam()}; }

    Executor executor_{{.threads = 4, .pin = false, .source = ThreadSource::kStdThread}};
};

// Until the run is cancelled: the longest that a node can take.
void wait_for_cancel(NodeScope& scope) {
    while (!scope.is_cancelled()) {
        std::this_thread::yield();
    }
}

// --- errors ---

//  make --> fail --> never
TEST_P(TaskGraphRunTest, AnExceptionNamesItsNodeAndCancelsItsSuccessors) {
    TaskGraph graph(options());
    std::atomic<int> ran{0};
    bool is_bad = true;
    const auto make = graph.add("make", [] { return Counted(1); });
    const auto fail = graph.add(
        "parse",
        [&](const Counted& v) {
            if (is_bad) {
                throw std::runtime_error("line 3");
            }
            return v.number();
        },
        make);
    graph.add(
        "never", [&](int) { ++ran; }, fail);
    const Status status = graph.run(executor_);
    EXPECT_EQ(status.code(), StatusCode::kUserException);
    EXPECT_EQ(status.node(), "parse");
    EXPECT_THAT(status.message(), HasSubstr("line 3"));
    EXPECT_EQ(ran, 0);
    EXPECT_EQ(Counted::live(), 0);
    is_bad = false;
    EXPECT_TRUE(graph.run(executor_).ok()) << "a graph that failed can run again";
    EXPECT_EQ(ran, 1);
}

TEST_P(TaskGraphRunTest, WhatIsNoExceptionIsCaughtToo) {
    TaskGraph graph(options());
    graph.add("odd", [] { throw 42; });
    const Status status = graph.run(executor_);
    EXPECT_EQ(status.code(), StatusCode::kUserException);
    EXPECT_EQ(status.node(), "odd");
}

TEST_P(TaskGraphRunTest, ANodeWithoutMemoryIsNoExceptionOfTheUser) {
    TaskGraph graph(options());
    graph.add("large", [] { throw std::bad_alloc(); });
    const Status status = graph.run(executor_);
    EXPECT_EQ(status.code(), StatusCode::kOutOfMemory);
    EXPECT_EQ(status.node(), "large");
}

TEST_P(TaskGraphRunTest, StatusAndResultComeBackWithTheNode) {
    TaskGraph graph(options());
    const auto a = graph.add("open", []() -> Result<int> {
        return Status(StatusCode::kNotFound, "no such file").with_file("x.txt");
    });
    graph.add(
        "b", [](int) {}, a);
    Status status = graph.run(executor_);
    EXPECT_EQ(status.code(), StatusCode::kNotFound);
    EXPECT_EQ(status.node(), "open");
    EXPECT_EQ(status.file(), "x.txt");
    EXPECT_EQ(graph.result(a), nullptr);

    TaskGraph second(options());
    second.add("check", [] { return Status(StatusCode::kBusy, "later"); });
    status = second.run(executor_);
    EXPECT_EQ(status.code(), StatusCode::kBusy);
    EXPECT_EQ(status.node(), "check");
}

TEST_P(TaskGraphRunTest, AnErrorInTheBlockingPoolEndsTheRun) {
    TaskGraph graph(options());
    const auto make = graph.add("make", [] { return Counted(1); });
    const auto read =
        graph
            .add(
                "read", [](const Counted&) -> Counted { throw std::runtime_error("disk"); }, make)
            .on(Domain::blocking());
    graph.add(
        "never", [](const Counted&) {}, read);
    for (int i = 0; i < 3; ++i) {
        const Status status = graph.run(executor_);
        EXPECT_EQ(status.code(), StatusCode::kUserException);
        EXPECT_EQ(status.node(), "read");
        EXPECT_EQ(Counted::live(), 0);
    }
}

//  bad        the run ends while "slow" is in the pool, which is waited for
//  slow
TEST_P(TaskGraphRunTest, ARunThatFailsWaitsForTheBlockingPool) {
    if (GetParam() != Gear::kDynamic) {
        GTEST_SKIP() << "a static list waits for a callable in its place";
    }
    TaskGraph graph(options());
    std::atomic<bool> is_over{false};
    std::atomic<bool> is_in{false};
    bool is_bad = true;
    graph
        .add("slow",
             [&](NodeScope& scope) {
                 is_in = true;
                 if (is_bad) {
                     wait_for_cancel(scope);
                     std::this_thread::sleep_for(5ms);
                 }
                 is_over = true;
                 return Counted(1);
             })
        .on(Domain::blocking());
    graph
        .add("bad",
             [&] {
                 while (!is_in) {
                     std::this_thread::yield();
                 }
                 return is_bad ? Status(StatusCode::kBusy, "bad") : Status();
             })
        .on(Domain::blocking());
    const Status status = graph.run(executor_);
    EXPECT_EQ(status.node(), "bad");
    EXPECT_TRUE(is_over);
    EXPECT_EQ(Counted::live(), 0);
    is_bad = false;
    is_over = false;
    EXPECT_TRUE(graph.run(executor_).ok());
    EXPECT_TRUE(is_over) << "a late signal of the run before does not count";
    EXPECT_EQ(Counted::live(), 1);
}

// --- cancellation ---

TEST_P(TaskGraphRunTest, StopTokensAndDeadlinesEndARun) {
    TaskGraph graph(options());
    std::atomic<int> ran{0};
    std::stop_source stop;
    const auto a = graph.add("a", [&](NodeScope& scope) {
        stop.request_stop();
        wait_for_cancel(scope);
        return Counted(1);
    });
    graph.add(
        "b", [&](const Counted&) { ++ran; }, a);
    EXPECT_EQ(graph.run(executor_, {.stop = stop.get_token()}).code(), StatusCode::kCancelled);
    const auto deadline = std::chrono::steady_clock::now() + 5ms;
    EXPECT_EQ(graph.run(executor_, {.deadline = deadline}).code(), StatusCode::kTimeout);
    EXPECT_EQ(ran, 0);
    EXPECT_EQ(Counted::live(), 0);
}

//  first --> pool --> last, and an inner graph
TEST_P(TaskGraphRunTest, NothingRunsWithAStopOrADeadlineThatCameBefore) {
    std::stop_source stop;
    stop.request_stop();
    const auto past = std::chrono::steady_clock::now() - 1h;
    for (const int threads : {1, 4}) {
        Executor executor({.threads = threads, .pin = false});
        std::atomic<int> ran{0};
        TaskGraph inner(options());
        inner.add("inner", [&] { ++ran; });
        TaskGraph graph(options());
        for (int i = 0; i < 100; ++i) {
            const auto first = graph.add("first", [&] { return ++ran; });
            const auto pool = graph
                                  .add(
                                      "pool", [&](int) { return ++ran; }, first)
                                  .on(Domain::blocking());
            graph.add(
                "last", [&](int) { ++ran; }, pool);
        }
        graph.add_subgraph("sub", Subgraph(std::move(inner), Sources<>()));
        for (const RunControl& control :
             {RunControl{.stop = stop.get_token()}, RunControl{.deadline = past}}) {
            const StatusCode code =
                control.deadline ? StatusCode::kTimeout : StatusCode::kCancelled;
            EXPECT_EQ(graph.run(executor, control).code(), code);
            EXPECT_EQ(graph.start(executor, control).wait().code(), code);
            EXPECT_EQ(ran, 0);
        }
        ASSERT_TRUE(graph.run(executor).ok());
        EXPECT_EQ(ran, 301);
    }
}

TEST_P(TaskGraphRunTest, ARunInsideOfACancelledOneRunsNothing) {
    std::atomic<int> ran{0};
    TaskGraph inner(options());
    inner.add("inner", [&] { ++ran; });
    TaskGraph graph(options());
    Status inner_status;
    graph.add("node", [&](NodeScope& scope) {
        wait_for_cancel(scope);
        inner_status = inner.run(scope.executor());
    });
    GraphRun run = graph.start(executor_);
    run.cancel();
    EXPECT_EQ(run.wait().code(), StatusCode::kCancelled);
    EXPECT_EQ(ran, 0);
}

TEST_P(TaskGraphRunTest, ADeadlineReachesTheBlockingPool) {
    TaskGraph graph(options());
    graph.add("wait", [](NodeScope& scope) { wait_for_cancel(scope); }).on(Domain::blocking());
    const auto deadline = std::chrono::steady_clock::now() + 5ms;
    EXPECT_EQ(graph.run(executor_, {.deadline = deadline}).code(), StatusCode::kTimeout);
}

//  ask --> never     although nothing but "ask" looks at the clock
TEST_P(TaskGraphRunTest, ANodeThatWasToldToStopHasNoValue) {
    TaskGraph graph(options());
    int ran = 0;
    const auto ask = graph.add("ask", [](NodeScope& scope) {
        wait_for_cancel(scope);
        return Counted(1);
    });
    graph.add(
        "never", [&](const Counted&) { ++ran; }, ask);
    for (int i = 0; i < 20; ++i) {
        const auto deadline = std::chrono::steady_clock::now() + 200us;
        EXPECT_EQ(graph.run(executor_, {.deadline = deadline}).code(), StatusCode::kTimeout);
    }
    EXPECT_EQ(ran, 0);
}

TEST_P(TaskGraphRunTest, HandlesCancelAndWait) {
    TaskGraph graph(options());
    const auto a = graph.add("a", [](NodeScope& scope) {
        wait_for_cancel(scope);
        return Counted(1);
    });
    graph.add(
        "b", [](const Counted&) {}, a);
    GraphRun run = graph.start(executor_);
    EXPECT_EQ(graph.run(executor_).code(), StatusCode::kBusy);
    EXPECT_EQ(graph.compile(executor_).code(), StatusCode::kBusy);
    run.cancel();
    EXPECT_EQ(run.wait().code(), StatusCode::kCancelled);
    EXPECT_EQ(run.wait().code(), StatusCode::kCancelled) << "the status stays";
    { const GraphRun dropped = graph.start(executor_); }
    EXPECT_FALSE(graph.run(executor_, {.deadline = std::chrono::steady_clock::now()}).ok());
}

TEST_P(TaskGraphRunTest, CancelFromAnotherThreadWhileWaiting) {
    TaskGraph graph(options());
    auto node = graph.add("n", [] { std::this_thread::sleep_for(100us); });
    for (int i = 0; i < 100'000; ++i) {  // would take 10 s
        node = graph.add("n", [] { std::this_thread::sleep_for(100us); }).after(node);
    }
    GraphRun run = graph.start(executor_);
    std::thread canceller([&] {
        std::this_thread::sleep_for(5ms);
        run.cancel();
    });
    EXPECT_EQ(run.wait().code(), StatusCode::kCancelled);
    canceller.join();
}

TEST_P(TaskGraphRunTest, DestroyingARunningGraphCancelsAndWaits) {
    std::atomic<bool> is_over{false};
    std::unique_ptr<GraphRun> run;
    {
        TaskGraph graph(options());
        graph.add("a", [&](NodeScope& scope) {
            wait_for_cancel(scope);
            is_over = true;
        });
        run = std::make_unique<GraphRun>(graph.start(executor_));
    }
    const Status status = run->wait();
    EXPECT_EQ(status.code(), StatusCode::kCancelled);
}

TEST_P(TaskGraphRunTest, WaitOfAnOldRunSaysSo) {
    TaskGraph graph(options());
    graph.add("a", [] {});
    GraphRun first = graph.start(executor_);
    ASSERT_TRUE(first.wait().ok());
    GraphRun second = graph.start(executor_);
    ASSERT_TRUE(second.wait().ok());
    EXPECT_EQ(first.wait().code(), StatusCode::kNotFound);
}

TEST_P(TaskGraphRunTest, StartReportsWhatCannotStart) {
    TaskGraph graph(options());
    const auto x = graph.source<int>("x");
    graph.add(
        "a", [](int) {}, x);
    EXPECT_THAT(graph.start(executor_).wait().message(), HasSubstr("x: "));
    const auto a = graph.add("b", [] {});
    a.after(a);
    EXPECT_THAT(graph.start(executor_).wait().message(), HasSubstr("circle"));
}

// --- at the same time ---

TEST_P(TaskGraphRunTest, InstancesRunConcurrently) {
    TaskGraph graph(options());
    const auto x = graph.source<int>("x");
    const auto a = graph.add(
        "a", [](int v) { return std::vector<int>(size_t(v), v); }, x);
    const auto b = graph.add(
        "b", [](const std::vector<int>& v) { return int(v.size()); }, a);
    const auto c = graph.add(
        "c", [](const std::vector<int>& v) { return v.back(); }, a);
    const auto sum = graph.add(
        "sum", [](int p, int q) { return p + q; }, b, c);
    std::vector<GraphInstance> instances;
    for (int i = 0; i < 4; ++i) {
        auto made = graph.make_instance(executor_);
        ASSERT_TRUE(made.ok());
        instances.push_back(std::move(made).value());
    }
    std::vector<std::thread> threads;
    threads.reserve(4);
    std::atomic<int> wrong{0};
    for (int i = 0; i < 4; ++i) {
        threads.emplace_back([&, i] {
            GraphInstance& instance = instances[size_t(i)];
            for (int round = 1; round < 200; ++round) {
                const int value = 10 * round + i;
                const bool is_right = instance.set(x, value).ok() && instance.run(executor_).ok() &&
                                      instance.take(sum).value() == 2 * value;
                wrong += is_right ? 0 : 1;
            }
        });
    }
    for (std::thread& thread : threads) {
        thread.join();
    }
    EXPECT_EQ(wrong, 0);
}

TEST_P(TaskGraphRunTest, InstancesOutliveTheGraph) {
    Node<int> a;
    auto graph = std::make_unique<TaskGraph>(options());
    a = graph->add("a", [] { return 7; });
    auto instance = graph->make_instance(executor_);
    ASSERT_TRUE(instance.ok());
    graph.reset();
    EXPECT_TRUE(instance->run(executor_).ok());
}

TEST_P(TaskGraphRunTest, GraphsRunInsideNodes) {
    TaskGraph inner(options());
    const auto x = inner.source<int>("x");
    const auto y = inner.add(
        "y", [](int v) { return v + 1; }, x);
    TaskGraph graph(options());
    const auto out = graph.add("outer", [&](NodeScope& scope) -> Result<int> {
        Status status = inner.set(x, 1);
        if (status.ok()) {
            status = inner.run(scope.executor());
        }
        return status.ok() ? inner.take(y) : Result<int>(status);
    });
    ASSERT_TRUE(graph.run(executor_).ok());
    EXPECT_EQ(*graph.result(out), 2);
}

TEST_P(TaskGraphRunTest, ParallelForCoversTheRange) {
    TaskGraph graph(options());
    std::vector<int> hits(10'000, 0);
    const auto fill = [&](NodeScope& scope) {
        return scope.parallel_for(10'000, 100, [&](int64_t begin, int64_t end) {
            for (int64_t i = begin; i < end; ++i) {
                ++hits[size_t(i)];
            }
        });
    };
    const auto a = graph.add("a", fill);
    graph.add("b", fill).after(a).on(Domain::blocking());
    ASSERT_TRUE(graph.run(executor_).ok());
    EXPECT_EQ(hits, std::vector<int>(10'000, 2));
}

TEST_P(TaskGraphRunTest, ParallelForReturnsTheFirstError) {
    TaskGraph graph(options());
    int kind = 0;
    graph.add("loop", [&](NodeScope& scope) {
        return scope.parallel_for(100, 1, [&](int64_t begin, int64_t /*end*/, int /*worker*/) {
            if (kind == 1) {
                throw std::runtime_error("tile");
            }
            return begin == 0 ? Status(StatusCode::kParse, "first") : Status();
        });
    });
    Status status = graph.run(executor_);
    EXPECT_EQ(status.code(), StatusCode::kParse);
    EXPECT_EQ(status.node(), "loop");
    kind = 1;
    status = graph.run(executor_);
    EXPECT_EQ(status.code(), StatusCode::kUserException);
    EXPECT_EQ(status.node(), "loop");
    EXPECT_THAT(status.text(), MatchesRegex("the body of parallel_for, in \\[[0-9]+, [0-9]+\\), "
                                            "threw: tile"));
}

// Also where the node looks at it and goes on, on a worker and in the pool.
TEST_P(TaskGraphRunTest, AnErrorOfParallelForNamesItsNode) {
    for (const bool is_in_pool : {false, true}) {
        TaskGraph inner(options());
        std::vector<Status> errors;
        const auto loop = inner.add("loop", [&](NodeScope& scope) {
            errors.push_back(scope.parallel_for(
                10, 1, [](int64_t, int64_t) { return Status(StatusCode::kParse, "bad"); }));
            errors.push_back(scope.parallel_for(10, 10, [](int64_t, int64_t) { throw 42; }));
        });
        if (is_in_pool) {
            loop.on(Domain::blocking());
        }
        TaskGraph graph(options());
        graph.add_subgraph("sub", Subgraph(std::move(inner), Sources<>()));
        ASSERT_TRUE(graph.run(executor_).ok());
        ASSERT_EQ(errors.size(), 2U);
        EXPECT_EQ(errors[0].message(), "parse: sub/loop: bad");
        EXPECT_EQ(errors[1].message(),
                  "user_exception: sub/loop: the body of parallel_for, in [0, 10), threw something "
                  "that is no std::exception");
    }
}

// --- traces ---

TEST_P(TaskGraphRunTest, ATracedGraphRecordsItsNodes) {
    TaskGraph inner(options());
    const auto x = inner.source<int>("x");
    const auto y = inner.add(
        "step", [](int v) { return v + 1; }, x);
    GraphOptions traced = options();
    traced.is_traced = true;
    TaskGraph graph(traced);
    const auto a = graph.add("a \"quoted\"", [] { return 1; });
    graph.add_repeat("loop", 3, Subgraph(std::move(inner), Sources(x), y), a);
    graph.add("read", [] {}).on(Domain::blocking());
    ASSERT_TRUE(graph.run(executor_).ok());
    ASSERT_TRUE(graph.run(executor_).ok());
    const std::string trace = graph.trace_json();
    EXPECT_THAT(trace, AllOf(HasSubstr(R"("name":"a \"quoted\"")"), HasSubstr("loop/step"),
                             HasSubstr(R"("name":"read")"), HasSubstr("worker "),
                             HasSubstr("blocking pool"), HasSubstr(R"("dropped_events":"0")")));
    size_t steps = 0;
    for (size_t at = trace.find("loop/step"); at != std::string::npos;
         at = trace.find("loop/step", at + 1)) {
        ++steps;
    }
    EXPECT_EQ(steps, 3U) << "of the last run";
    EXPECT_TRUE(graph.recompile().ok());
    EXPECT_TRUE(graph.run(executor_).ok());
}

TEST_P(TaskGraphRunTest, ATraceShowsOnlyTheBranchOfTheLastRun) {
    const auto branch = [this](const char* name) {
        TaskGraph inner(options());
        const auto x = inner.source<int>("x");
        const auto y = inner.add(
            name, [](int v) { return v; }, x);
        return Subgraph(std::move(inner), Sources(x), y);
    };
    GraphOptions traced = options();
    traced.is_traced = true;
    TaskGraph graph(traced);
    const auto x = graph.source<int>("x");
    const auto is_large = graph.add(
        "is_large", [](int v) { return v > 10; }, x);
    graph.add_if("if", is_large, branch("large"), branch("small"), x);
    for (const int value : {50, 1}) {
        ASSERT_TRUE(graph.set(x, value).ok());
        ASSERT_TRUE(graph.run(executor_).ok());
    }
    EXPECT_THAT(graph.trace_json(), AllOf(HasSubstr("small"), Not(HasSubstr("/large"))));
}

TEST_P(TaskGraphRunTest, AnUntracedGraphRecordsNothing) {
    TaskGraph graph(options());
    graph.add("a", [] {});
    ASSERT_TRUE(graph.run(executor_).ok());
    EXPECT_THAT(graph.trace_json(), Not(HasSubstr("\"X\"")));
    EXPECT_THAT(graph.recompile().message(), HasSubstr("is_traced"));
}

// --- random graphs ---

std::string name_of_node(int number) {
    return std::string("n").append(std::to_string(number));
}

// Each node sums its inputs and adds 1; some run in the blocking pool or on the calling thread.
class RandomGraph {
  public:
    static constexpr int kNodes = 60;

    RandomGraph(unsigned seed, const GraphOptions& options) : graph_(options), random_(seed) {
        for (int i = 0; i < kNodes; ++i) {
            add_node(i);
        }
    }
    // `failing` is the node that fails; -1: none.
    Status run(Executor& executor, int failing) {
        failing_ = failing;
        return graph_.run(executor);
    }
    int wrong_results() const {
        int wrong = 0;
        for (size_t i = 0; i < nodes_.size(); ++i) {
            const Counted* const result = graph_.result(nodes_[i]);
            wrong += result != nullptr && result->number() != expected_[i] ? 1 : 0;
        }
        return wrong;
    }

  private:
    static constexpr int kModulus = 1009;

    void add_node(int number) {
        std::vector<Node<Counted>> inputs;
        int sum = 1;
        for (auto k = int(random_() % 4); k > 0 && number > 0; --k) {
            const size_t input = random_() % size_t(number);
            inputs.push_back(nodes_[input]);
            sum = (sum + expected_[input]) % kModulus;
        }
        const auto body = [this, number](Values<Counted> values) { return call(number, values); };
        const auto node = graph_.add(name_of_node(number), body, inputs);
        if (random_() % 8 == 0) {
            node.on(random_() % 2 == 0 ? Domain::blocking() : Domain::caller());
        }
        nodes_.push_back(node);
        expected_.push_back(sum);
    }
    Result<Counted> call(int number, const Values<Counted>& values) const {
        int total = 1;
        for (const Counted& value : values) {
            total = (total + value.number()) % kModulus;
        }
        if (failing_ == number && number % 2 == 0) {
            throw std::runtime_error("random");
        }
        if (failing_ == number) {
            return Status(StatusCode::kParse, "random");
        }
        return Counted(total);
    }

    TaskGraph graph_;
    std::mt19937 random_;
    std::vector<Node<Counted>> nodes_;
    std::vector<int> expected_;
    int failing_ = -1;
};

TEST_P(TaskGraphRunTest, RandomGraphsGiveTheSumOfAPlainLoop) {
    for (unsigned seed = 0; seed < 30; ++seed) {
        RandomGraph graph(seed, options());
        for (int round = 0; round < 4; ++round) {
            const int failing =
                round % 2 == 0 ? -1 : int(seed * 7 + unsigned(round) * 13) % RandomGraph::kNodes;
            const Status status = graph.run(executor_, failing);
            ASSERT_EQ(status.ok(), failing < 0) << status.message();
            ASSERT_EQ(status.node(), failing < 0 ? "" : name_of_node(failing));
            ASSERT_TRUE(failing < 0 || Counted::live() == 0) << "values leaked";
            ASSERT_EQ(graph.wrong_results(), 0) << "seed " << seed;
        }
    }
}

INSTANTIATE_TEST_SUITE_P(Gears,
                         TaskGraphRunTest,
                         ::testing::Values(Gear::kInline, Gear::kCompiled, Gear::kDynamic),
                         [](const auto& info) { return std::string(name_of(info.param)); });

}  // namespace
}  // namespace leat::scheduler
