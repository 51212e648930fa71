// TaskGraph: building, values on the edges, errors of building, domains.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <limits>
#include <memory>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include "leat/scheduler/task_graph.h"
#include "leat/scheduler/topology.h"
#include "support/counted.h"

namespace leat::scheduler {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using testing_support::Counted;

// Every gear of the program gives the same results.
class TaskGraphTest : public ::testing::TestWithParam<Gear> {
  protected:
    void TearDown() override { EXPECT_EQ(Counted::live(), 0) << "values leaked"; }

    GraphOptions options() const { return {.gear = GetParam()}; }

    Executor executor_{{.threads = 4, .pin = false, .source = ThreadSource::kStdThread}};
};

std::string name_of_gear(const ::testing::TestParamInfo<Gear>& info) {
    return std::string(name_of(info.param));
}

//  load --> sum --> twice
TEST_P(TaskGraphTest, PassesValuesAlongEdges) {
    TaskGraph graph(options());
    const auto load = graph.add("load", [] { return std::vector<int>{1, 2, 3}; });
    const auto sum = graph.add(
        "sum", [](const std::vector<int>& v) { return std::accumulate(v.begin(), v.end(), 0); },
        load);
    const auto twice = graph.add(
        "twice", [](int v) { return 2.0 * v; }, sum);
    ASSERT_TRUE(graph.run(executor_).ok());
    ASSERT_NE(graph.result(twice), nullptr);
    EXPECT_EQ(*graph.result(twice), 12.0);
    EXPECT_EQ(graph.take(twice).value(), 12.0);
    EXPECT_EQ(graph.result(twice), nullptr);
}

TEST_P(TaskGraphTest, MovesToTheOnlyConsumer) {
    TaskGraph graph(options());
    const auto make = graph.add("make", [] { return Counted(7); });
    const auto by_value = graph.add(
        "value", [](Counted v) { return v; }, make);
    const auto by_move = graph.add(
        "move", [](Counted&& v) { return std::move(v); }, by_value);
    Counted::reset_copies();
    ASSERT_TRUE(graph.run(executor_).ok());
    EXPECT_EQ(graph.take(by_move)->number(), 7);
    EXPECT_EQ(Counted::copies(), 0);
}

//  make --> a
//     \---> b      both see the same object
TEST_P(TaskGraphTest, SharesWithSeveralConsumers) {
    TaskGraph graph(options());
    const auto make = graph.add("make", [] { return Counted(7); });
    const auto a = graph.add(
        "a", [](const Counted& v) { return &v; }, make);
    const auto b = graph.add(
        "b", [](const Counted& v) { return &v; }, make);
    Counted::reset_copies();
    ASSERT_TRUE(graph.run(executor_).ok());
    EXPECT_EQ(*graph.result(a), *graph.result(b));
    EXPECT_EQ(Counted::copies(), 0);
    EXPECT_EQ(Counted::live(), 0) << "the last consumer destroys the value";
}

TEST_P(TaskGraphTest, CopiesForAConsumerByValueOfASharedValue) {
    TaskGraph graph(options());
    const auto make = graph.add("make", [] { return Counted(7); });
    const auto a = graph.add(
        "a", [](Counted v) { return v.take(); }, make);
    const auto b = graph.add(
        "b", [](const Counted& v) { return v.number(); }, make);
    Counted::reset_copies();
    ASSERT_TRUE(graph.run(executor_).ok());
    EXPECT_EQ(*graph.result(a) + *graph.result(b), 14);
    EXPECT_EQ(Counted::copies(), 1);
}

TEST_P(TaskGraphTest, TheSameValueTwiceIsShared) {
    TaskGraph graph(options());
    const auto make = graph.add("make", [] { return Counted(7); });
    const auto both = graph.add(
        "both", [](Counted a, const Counted& b) { return a.take() + b.number(); }, make, make);
    ASSERT_TRUE(graph.run(executor_).ok());
    EXPECT_EQ(*graph.result(both), 14);
}

TEST_P(TaskGraphTest, GivesAListOfInputsAsValues) {
    TaskGraph graph(options());
    std::vector<Node<int>> parts;
    parts.reserve(100);
    for (int i = 0; i < 100; ++i) {
        parts.push_back(graph.add("part", [i] { return i; }));
    }
    const auto factor = graph.add("factor", [] { return 10; });
    const auto sum = graph.add(
        "sum",
        [](Values<int> values, int by) {
            return by * std::accumulate(values.begin(), values.end(), 0) + int(values.size());
        },
        parts, factor);
    ASSERT_TRUE(graph.run(executor_).ok());
    EXPECT_EQ(*graph.result(sum), 49'600);
}

double half(int v) noexcept {
    return v / 2.0;
}

TEST_P(TaskGraphTest, TakesGenericLambdasFunctionsAndScopes) {
    TaskGraph graph(options());
    const auto a = graph.add("a", [] { return 20; });
    const auto b = graph.add(
        "b", [](const auto& x, auto y) { return x + y; }, a, a);
    const auto c = graph.add("c", &half, b);
    const auto d = graph.add(
        "d", [](NodeScope& scope, int v) { return std::string(scope.name()) + std::to_string(v); },
        b);
    ASSERT_TRUE(graph.run(executor_).ok());
    EXPECT_EQ(*graph.result(d), "d40");
    EXPECT_EQ(*graph.result(c), 20);
}

TEST_P(TaskGraphTest, RunsAgainWithoutBuilding) {
    TaskGraph graph(options());
    const auto x = graph.source<int>("x");
    const auto square = graph.add(
        "square", [](int v) { return v * v; }, x);
    for (int i = 0; i < 5; ++i) {
        ASSERT_TRUE(graph.set(x, i).ok());
        ASSERT_TRUE(graph.run(executor_).ok());
        EXPECT_EQ(*graph.result(square), i * i);
    }
}

TEST_P(TaskGraphTest, GrowsBetweenRuns) {
    TaskGraph graph(options());
    const auto x = graph.source<Counted>("x");
    ASSERT_TRUE(graph.set(x, Counted(3)).ok());
    const auto a = graph.add(
        "a", [](const Counted& v) { return v.number(); }, x);
    ASSERT_TRUE(graph.run(executor_).ok());
    EXPECT_EQ(*graph.result(a), 3);
    ASSERT_TRUE(graph.set(x, Counted(4)).ok());
    const auto b = graph.add(
        "b", [](int v) { return v + 1; }, a);
    ASSERT_TRUE(graph.run(executor_).ok());
    EXPECT_EQ(*graph.result(b), 5);
    EXPECT_EQ(graph.take(a).error().code(), StatusCode::kNotFound) << "b consumes it now";
}

TEST_P(TaskGraphTest, ARunConsumesTheValuesOfSources) {
    TaskGraph graph(options());
    const auto x = graph.source<int>("camera");
    const auto y = graph.source<int>("offset");
    graph.sink(y);  // a source that is kept is there in the next run too
    const auto sum = graph.add(
        "sum", [](int a, int b) { return a + b; }, x, y);
    ASSERT_TRUE(graph.set(x, 1).ok());
    ASSERT_TRUE(graph.set(y, 10).ok());
    ASSERT_TRUE(graph.run(executor_).ok());
    const Status status = graph.run(executor_);
    EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
    EXPECT_THAT(status.message(), AllOf(HasSubstr("camera: "), HasSubstr("without a value")));
    ASSERT_TRUE(graph.set(x, 2).ok());
    ASSERT_TRUE(graph.run(executor_).ok());
    EXPECT_EQ(*graph.result(sum), 12);
}

TEST_P(TaskGraphTest, KeepsSinksThatOthersConsume) {
    TaskGraph graph(options());
    const auto a = graph.sink(graph.add("a", [] { return Counted(1); }));
    const auto b = graph.add(
        "b", [](const Counted& v) { return v.number(); }, a);
    const auto c = graph.add(
        "c", [](int v) { return v; }, b);
    ASSERT_TRUE(graph.run(executor_).ok());
    EXPECT_EQ(graph.take(a)->number(), 1);
    const Status status = graph.take(b).error();
    EXPECT_EQ(status.code(), StatusCode::kNotFound);
    EXPECT_THAT(status.message(),
                AllOf(HasSubstr(" b: "), HasSubstr("consume"), HasSubstr("sink")));
    EXPECT_EQ(*graph.result(c), 1);
}

// --- order ---

TEST_P(TaskGraphTest, AfterOrdersWithoutAValue) {
    TaskGraph graph(options());
    std::vector<int> order;
    std::vector<Node<void>> nodes(4);
    for (int i = 3; i >= 0; --i) {
        nodes[size_t(i)] = graph.add("n", [&order, i] { order.push_back(i); });
    }
    for (size_t i = 1; i < nodes.size(); ++i) {
        nodes[i].after(nodes[i - 1]);
    }
    ASSERT_TRUE(graph.run(executor_).ok());
    EXPECT_THAT(order, ElementsAre(0, 1, 2, 3));
}

//  write --> read 1 --> write 2
//      \---> read 2 --^
TEST_P(TaskGraphTest, ResourcesOrderReadersAndWriters) {
    TaskGraph graph(options());
    const Resource table = graph.resource("table");
    int value = 0;
    graph.add("write", [&] { value = 1; }).writes(table);
    const auto a = graph.add("read 1", [&] { return value; }).reads(table);
    const auto b = graph.add("read 2", [&] { return value; }).reads(table).on(Domain::blocking());
    graph.add("write 2", [&] { value = 2; }).writes(table);
    for (int i = 0; i < 20; ++i) {
        ASSERT_TRUE(graph.run(executor_).ok());
        EXPECT_EQ(*graph.result(a), 1);
        EXPECT_EQ(*graph.result(b), 1);
        EXPECT_EQ(value, 2);
    }
}

// --- mistakes of building ---

TEST_P(TaskGraphTest, NamesTheNodesOfACircle) {
    TaskGraph graph(options());
    const auto a = graph.add("a", [] { return 1; });
    const auto b = graph.add(
        "b", [](int v) { return v; }, a);
    const auto c = graph
                       .add(
                           "c", [](int) {}, b)
                       .on(Domain::blocking());
    a.after(c);
    const Status status = graph.compile(executor_);
    EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
    EXPECT_THAT(status.message(), HasSubstr("'a' -> 'b' -> 'c' -> 'a'"));
}

TEST_P(TaskGraphTest, RefusesToTakeASharedValueAway) {
    TaskGraph graph(options());
    const auto make = graph.add("make", [] { return std::make_unique<int>(1); });
    graph.add(
        "a", [](std::unique_ptr<int> v) { return *v; }, make);
    graph.add(
        "b", [](const std::unique_ptr<int>& v) { return *v; }, make);
    const Status status = graph.compile(executor_);
    EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
    EXPECT_THAT(status.message(), AllOf(HasSubstr(" a: "), HasSubstr("'make'"),
                                        HasSubstr("2 consumers"), HasSubstr("const T&")));
}

TEST_P(TaskGraphTest, ReportsHandlesOfAnotherGraphAndEmptyOnes) {
    TaskGraph other;
    const auto foreign = other.add("theirs", [] { return 1; });
    TaskGraph graph(options());
    graph.add(
        "mine", [](int v) { return v; }, foreign);
    EXPECT_THAT(graph.compile(executor_).message(),
                AllOf(HasSubstr("mine: "), HasSubstr("'theirs' of another graph")));
    TaskGraph third(options());
    third.add(
        "mine", [](int v) { return v; }, Node<int>());
    EXPECT_THAT(third.compile(executor_).message(), HasSubstr("empty handle"));
    EXPECT_EQ(graph.set(foreign, 1).code(), StatusCode::kInvalidArgument);
    EXPECT_EQ(graph.result(foreign), nullptr);
}

TEST_P(TaskGraphTest, ReportsACostThatMakesNoSense) {
    TaskGraph graph(options());
    graph.add("a", [] {}).cost_ns(-1);
    EXPECT_THAT(graph.compile(executor_).message(), AllOf(HasSubstr(" a: "), HasSubstr("-1")));
}

// Costs are kept as float: what is finite is not made infinite by that.
TEST_P(TaskGraphTest, TakesAnyFiniteCostAndNamesTheNodeOfOthers) {
    constexpr double kInfinite = std::numeric_limits<double>::infinity();
    constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
    for (const double cost_ns : {1e300, std::numeric_limits<double>::max(), 5e-324, 0.0}) {
        TaskGraph graph(options());
        const auto a = graph.add("a", [] { return 1; }).cost_ns(cost_ns);
        const auto b = graph
                           .add(
                               "b", [](int v) { return v + 1; }, a)
                           .cost_ns(cost_ns);
        graph.add("c", [] {}).cost_ns(1);
        const Status status = graph.run(executor_);
        ASSERT_TRUE(status.ok()) << cost_ns << ": " << status.message();
        EXPECT_EQ(*graph.result(b), 2);
    }
    for (const double cost_ns : {kInfinite, -kInfinite, kNan, -5e-324}) {
        TaskGraph graph(options());
        graph.add("a", [] {}).cost_ns(cost_ns);
        EXPECT_EQ(graph.run(executor_).node(), "a") << cost_ns;
    }
}

// In the dynamic gear they hold, and where all are alike there is nothing to hold.
TEST_P(TaskGraphTest, ReportsPrioritiesThatHaveNoEffect) {
    TaskGraph inner(options());
    inner.add("high", [] {}).priority(Priority::kHigh);
    inner.add("low", [] {}).priority(Priority::kLow);
    TaskGraph graph(GraphOptions{.gear = GetParam(), .is_traced = true});
    const auto a = graph.add("a", [] {});
    std::vector<Node<void>> nodes;
    nodes.reserve(20);
    for (int i = 0; i < 20; ++i) {
        nodes.push_back(graph.add("n", [] {}).after(a));
    }
    ASSERT_TRUE(graph.run(executor_).ok());
    EXPECT_TRUE(graph.report().notes.empty());
    nodes[3].priority(Priority::kHigh);
    nodes[5].priority(Priority::kLow);
    graph.add_subgraph("sub", Subgraph(std::move(inner), Sources<>()));
    for (const bool is_again : {false, true}) {
        ASSERT_TRUE(graph.run(executor_).ok());
        if (is_again) {
            ASSERT_TRUE(graph.recompile().ok());  // the gear may be another one then
        }
        const Gear gear = graph.report().program.gear;
        const std::vector<std::string>& notes = graph.report().notes;
        const auto is_of_graph = [](const std::string& note) {
            return note.find("2 nodes have a priority") == 0;
        };
        EXPECT_EQ(std::count_if(notes.begin(), notes.end(), is_of_graph),
                  gear == Gear::kDynamic ? 0 : 1);
        EXPECT_EQ(std::count_if(notes.begin(), notes.end(),
                                [](const std::string& note) {
                                    return note.find("sub: 2 nodes have a priority") == 0;
                                }),
                  GetParam() == Gear::kDynamic ? 0 : 1);
    }
}

TEST_P(TaskGraphTest, ReportsPrioritiesInTheBlockingPool) {
    TaskGraph graph(options());
    graph.add("worker", [] {}).priority(Priority::kHigh);
    const auto pool = graph.add("pool", [] {}).on(Domain::blocking());
    const std::string text = "1 nodes in the blocking pool have a priority";
    ASSERT_TRUE(graph.compile(executor_).ok());
    EXPECT_THAT(graph.report().notes, Not(Contains(HasSubstr(text))));
    pool.priority(Priority::kLow);
    ASSERT_TRUE(graph.compile(executor_).ok());
    EXPECT_THAT(graph.report().notes, Contains(HasSubstr(text)));
}

TEST_P(TaskGraphTest, OnlySourcesCanBeSet) {
    TaskGraph graph(options());
    const auto a = graph.add("a", [] { return 1; });
    EXPECT_THAT(graph.set(a, 2).message(), HasSubstr("set() is for sources"));
}

TEST_P(TaskGraphTest, AnEmptyGraphRuns) {
    TaskGraph graph(options());
    EXPECT_TRUE(graph.run(executor_).ok());
    EXPECT_EQ(graph.report().nodes, 0);
}

// --- domains ---

TEST_P(TaskGraphTest, CallerNodesRunOnTheCallingThread) {
    TaskGraph graph(options());
    std::vector<Node<std::thread::id>> callers;
    for (int i = 0; i < 20; ++i) {
        const auto any = graph.add("any", [] { std::this_thread::yield(); });
        callers.push_back(graph.add("draw", [] { return std::this_thread::get_id(); })
                              .after(any)
                              .on(Domain::caller()));
    }
    ASSERT_TRUE(graph.run(executor_).ok());
    for (const auto& node : callers) {
        EXPECT_EQ(*graph.result(node), std::this_thread::get_id());
    }
    GraphRun run = graph.start(executor_);
    ASSERT_TRUE(run.wait().ok());
    for (const auto& node : callers) {
        EXPECT_EQ(*graph.result(node), std::this_thread::get_id());
    }
}

// All wait for each other: none could go on if they took turns on the workers.
TEST_P(TaskGraphTest, BlockingNodesRunBesideTheWorkers) {
    if (GetParam() != Gear::kDynamic) {
        GTEST_SKIP() << "a static list waits for a callable in its place";
    }
    constexpr int kNodes = 12;
    TaskGraph graph(options());
    std::atomic<int> arrived{0};
    std::vector<Node<int>> nodes;
    nodes.reserve(kNodes);
    const auto before = graph.add("before", [] { return 100; });
    for (int i = 0; i < kNodes; ++i) {
        nodes.push_back(graph
                            .add(
                                "wait",
                                [&](NodeScope& scope, int v) {
                                    ++arrived;
                                    while (arrived.load() < kNodes) {
                                        std::this_thread::yield();
                                    }
                                    return v + scope.worker();
                                },
                                before)
                            .on(Domain::blocking()));
    }
    const auto sum = graph.add(
        "sum", [](Values<int> v) { return std::accumulate(v.begin(), v.end(), 0); }, nodes);
    for (int i = 0; i < 3; ++i) {
        arrived = 0;
        ASSERT_TRUE(graph.run(executor_).ok());
        EXPECT_EQ(*graph.result(sum), kNodes * 99);
    }
}

TEST_P(TaskGraphTest, ChecksAndReportsNumaNodes) {
    TaskGraph graph(options());
    const auto a = graph.add("a", [] {}).on(Domain::numa_node(0));
    ASSERT_TRUE(graph.run(executor_).ok());
    ASSERT_EQ(graph.report().notes.size(), 1U);
    EXPECT_THAT(graph.report().notes[0], HasSubstr("NUMA"));
    a.on(Domain::numa_node(-1));
    EXPECT_THAT(graph.run(executor_).message(), AllOf(HasSubstr(" a: "), HasSubstr("-1")));
    a.on(Domain::any());
    EXPECT_TRUE(graph.run(executor_).ok());
    EXPECT_TRUE(graph.report().notes.empty());
}

TEST(TaskGraph, NodesWithCostsArePlacedOnTheirNumaNode) {
    ExecutorOptions executor_options;
    executor_options.threads = 2;
    executor_options.source = ThreadSource::kStdThread;
    executor_options.pin = false;
    executor_options.domains = {{0, {0}}, {4, {1}}};
    Executor executor(executor_options);
    GraphOptions options;
    options.gear = Gear::kCompiled;
    TaskGraph graph(options);
    for (int i = 0; i < 8; ++i) {
        graph.add(std::string("n").append(std::to_string(i)), [] {})
            .on(Domain::numa_node(4))
            .cost_ns(1e6);
    }
    ASSERT_TRUE(graph.compile(executor).ok());
    EXPECT_THAT(graph.report().notes,
                ::testing::ElementsAre(HasSubstr("8 nodes ask for a NUMA node: placed there")));
    // All on one worker: nothing runs beside them.
    EXPECT_NEAR(graph.report().program.parallel_ns, 8e6, 1e3);
    ASSERT_TRUE(graph.run(executor).ok());
    graph.add("bad", [] {}).on(Domain::numa_node(2));
    EXPECT_THAT(graph.compile(executor).message(),
                AllOf(HasSubstr("found 2"), HasSubstr("needed 0, 4")));
}

INSTANTIATE_TEST_SUITE_P(Gears,
                         TaskGraphTest,
                         ::testing::Values(Gear::kInline, Gear::kCompiled, Gear::kDynamic),
                         name_of_gear);

}  // namespace
}  // namespace leat::scheduler
