// TaskGraph: graphs as nodes of graphs, chosen and repeated ones.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "leat/scheduler/task_graph.h"
#include "support/counted.h"

namespace leat::scheduler {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using testing_support::Counted;

// Graphs inside of one another, as task_graph.h says.
constexpr int kMostNested = 400;

class SubgraphTest : public ::testing::TestWithParam<Gear> {
  protected:
    void TearDown() override { EXPECT_EQ(Counted::live(), 0) << "values leaked"; }

    GraphOptions options() const { return {.gear = GetParam()}; }
    // x --> x + by
    Subgraph<int(int)> adding(int by) const {
        TaskGraph graph(options());
        const auto x = graph.source<int>("x");
        const auto y = graph.add(
            "add", [by](int v) { return v + by; }, x);
        return Subgraph(std::move(graph), Sources(x), y);
    }

    Executor executor_{{.threads = 4, .pin = false, .source = ThreadSource::kStdThread}};
};

//  x --> a --> sum       inside "norm"
//   \--> b --^
TEST_P(SubgraphTest, RunsAsANode) {
    TaskGraph norm(options());
    const auto x = norm.source<int>("x");
    const auto y = norm.source<int>("y");
    const auto a = norm.add(
        "a", [](int v) { return v * v; }, x);
    const auto b = norm.add(
        "b", [](int v) { return v * v; }, y);
    const auto sum = norm.add(
        "sum", [](int p, int q) { return p + q; }, a, b);

    TaskGraph graph(options());
    const auto three = graph.add("three", [] { return 3; });
    const auto four = graph.add("four", [] { return 4; });
    const auto squared =
        graph.add_subgraph("norm", Subgraph(std::move(norm), Sources(x, y), sum), three, four);
    const auto text = graph.add(
        "text", [](int v) { return std::to_string(v); }, squared);
    for (int i = 0; i < 3; ++i) {
        ASSERT_TRUE(graph.run(executor_).ok());
        EXPECT_EQ(*graph.result(text), "25");
    }
}

TEST_P(SubgraphTest, MovesValuesInAndOut) {
    TaskGraph inner(options());
    const auto x = inner.source<std::unique_ptr<Counted>>("x");
    const auto y = inner.add(
        "y", [](std::unique_ptr<Counted> v) { return v; }, x);
    TaskGraph graph(options());
    const auto make = graph.add("make", [] { return std::make_unique<Counted>(5); });
    const auto out = graph.add_subgraph("inner", Subgraph(std::move(inner), Sources(x), y), make);
    ASSERT_TRUE(graph.run(executor_).ok());
    EXPECT_EQ(graph.take(out).value()->number(), 5);
}

TEST_P(SubgraphTest, BorrowsSharedValuesWithoutACopy) {
    TaskGraph inner(options());
    const auto x = inner.source<Counted>("x");
    const auto y = inner.add(
        "y", [](const Counted& v) { return &v; }, x);
    TaskGraph graph(options());
    const auto make = graph.add("make", [] { return Counted(5); });
    const auto in = graph.add_subgraph("inner", Subgraph(std::move(inner), Sources(x), y), make);
    const auto out = graph.add(
        "out", [](const Counted& v) { return &v; }, make);
    Counted::reset_copies();
    ASSERT_TRUE(graph.run(executor_).ok());
    EXPECT_EQ(*graph.result(in), *graph.result(out));
    EXPECT_EQ(Counted::copies(), 0);
}

TEST_P(SubgraphTest, RefusesToTakeASharedValueAwayInside) {
    TaskGraph inner(options());
    const auto x = inner.source<std::unique_ptr<int>>("x");
    const auto y = inner.add(
        "y", [](std::unique_ptr<int> v) { return *v; }, x);
    TaskGraph graph(options());
    const auto make = graph.add("make", [] { return std::make_unique<int>(5); });
    graph.add_subgraph("inner", Subgraph(std::move(inner), Sources(x), y), make);
    graph.add(
        "other", [](const std::unique_ptr<int>& v) { return *v; }, make);
    EXPECT_THAT(graph.compile(executor_).message(),
                AllOf(HasSubstr("inner: "), HasSubstr("2 consumers")));
}

TEST_P(SubgraphTest, ErrorsNameThePath) {
    TaskGraph inner(options());
    const auto x = inner.source<int>("x");
    inner.add(
        "check",
        [](int v) { return v == 0 ? Status(StatusCode::kInvalidArgument, "zero") : Status(); }, x);
    TaskGraph graph(options());
    const auto in = graph.source<int>("in");
    graph.add_subgraph("inner", Subgraph(std::move(inner), Sources(x)), in);
    ASSERT_TRUE(graph.set(in, 1).ok());
    ASSERT_TRUE(graph.run(executor_).ok());
    ASSERT_TRUE(graph.set(in, 0).ok());
    const Status status = graph.run(executor_);
    EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
    EXPECT_EQ(status.node(), "inner/check");
}

TEST_P(SubgraphTest, ReportsSourcesThatGetNoValue) {
    TaskGraph inner(options());
    const auto x = inner.source<int>("x");
    const auto forgotten = inner.source<int>("forgotten");
    const auto y = inner.add(
        "y", [](int a, int b) { return a + b; }, x, forgotten);
    TaskGraph graph(options());
    graph.add_subgraph("inner", Subgraph(std::move(inner), Sources(x), y),
                       graph.add("one", [] { return 1; }));
    EXPECT_THAT(graph.compile(executor_).message(),
                AllOf(HasSubstr("inner: "), HasSubstr("'forgotten'")));
}

TEST_P(SubgraphTest, CallerNodesInsideRunOnTheCallingThread) {
    TaskGraph inner(options());
    const auto y =
        inner.add("draw", [] { return std::this_thread::get_id(); }).on(Domain::caller());
    TaskGraph graph(options());
    std::vector<Node<std::thread::id>> nodes;
    nodes.push_back(graph.add_subgraph("inner", Subgraph(std::move(inner), Sources(), y)));
    for (int i = 0; i < 10; ++i) {
        graph.add("other", [] { std::this_thread::yield(); });
    }
    ASSERT_TRUE(graph.run(executor_).ok());
    EXPECT_EQ(*graph.result(nodes[0]), std::this_thread::get_id());
}

TEST_P(SubgraphTest, BlockingNodesWorkInside) {
    TaskGraph inner(options());
    const auto x = inner.source<int>("x");
    const auto y = inner
                       .add(
                           "read", [](int v) { return v + 1; }, x)
                       .on(Domain::blocking());
    const auto z = inner.add(
        "z", [](int v) { return v * 2; }, y);
    TaskGraph graph(options());
    const auto out = graph.add_repeat("loop", 10, Subgraph(std::move(inner), Sources(x), z),
                                      graph.add("one", [] { return 1; }));
    ASSERT_TRUE(graph.run(executor_).ok());
    EXPECT_EQ(*graph.result(out), 3070);
}

TEST_P(SubgraphTest, IfRunsOneOfTwo) {
    TaskGraph graph(options());
    const auto x = graph.source<int>("x");
    const auto is_large = graph.add(
        "is_large", [](int v) { return v > 10; }, x);
    const auto y = graph.add_if("branch", is_large, adding(-1), adding(100), x);
    ASSERT_TRUE(graph.set(x, 50).ok());
    ASSERT_TRUE(graph.run(executor_).ok());
    EXPECT_EQ(*graph.result(y), 49);
    ASSERT_TRUE(graph.set(x, 5).ok());
    ASSERT_TRUE(graph.run(executor_).ok());
    EXPECT_EQ(*graph.result(y), 105);
}

TEST_P(SubgraphTest, WhileRepeatsAsLongAsTheConditionHolds) {
    TaskGraph graph(options());
    const auto x = graph.source<int>("x");
    const auto y = graph.add_while(
        "grow", [](int v) { return v < 10; }, adding(3), x);
    ASSERT_TRUE(graph.set(x, 0).ok());
    ASSERT_TRUE(graph.run(executor_).ok());
    EXPECT_EQ(*graph.result(y), 12);
    ASSERT_TRUE(graph.set(x, 11).ok());
    ASSERT_TRUE(graph.run(executor_).ok());
    EXPECT_EQ(*graph.result(y), 11);
}

TEST_P(SubgraphTest, RepeatMovesItsStateAlong) {
    TaskGraph step(options());
    const auto x = step.source<Counted>("x");
    const auto y = step.add(
        "y",
        [](Counted v) {
            v.add(1);
            return v;
        },
        x);
    TaskGraph graph(options());
    const auto start = graph.add("start", [] { return Counted(0); });
    const auto out =
        graph.add_repeat("count", 1000, Subgraph(std::move(step), Sources(x), y), start);
    Counted::reset_copies();
    ASSERT_TRUE(graph.run(executor_).ok());
    EXPECT_EQ(graph.take(out)->number(), 1000);
    EXPECT_EQ(Counted::copies(), 0);
}

TEST_P(SubgraphTest, LoopsCopyAnInitialStateThatOthersSee) {
    TaskGraph graph(options());
    const auto x = graph.add("x", [] { return 1; });
    const auto never = graph.add_repeat("never", 0, adding(1), x);
    const auto once = graph.add_repeat("once", 1, adding(1), x);
    ASSERT_TRUE(graph.run(executor_).ok());
    EXPECT_EQ(*graph.result(never), 1);
    EXPECT_EQ(*graph.result(once), 2);
}

TEST_P(SubgraphTest, AFailingLoopDestroysItsState) {
    TaskGraph step(options());
    const auto x = step.source<Counted>("x");
    const auto y = step.add(
        "y",
        [](Counted v) -> Result<Counted> {
            if (v.number() == 5) {
                return Status(StatusCode::kUnsupported, "five");
            }
            v.add(1);
            return v;
        },
        x);
    TaskGraph graph(options());
    const auto start = graph.add("start", [] { return Counted(0); });
    graph.add_repeat("count", 10, Subgraph(std::move(step), Sources(x), y), start);
    for (int i = 0; i < 2; ++i) {
        const Status status = graph.run(executor_);
        EXPECT_EQ(status.code(), StatusCode::kUnsupported);
        EXPECT_EQ(status.node(), "count/y");
        EXPECT_EQ(Counted::live(), 0);
    }
}

TEST_P(SubgraphTest, AnEndlessLoopCanBeCancelled) {
    TaskGraph graph(options());
    const auto x = graph.add("x", [] { return 0; });
    graph.add_while(
        "forever", [](int) { return true; }, adding(0), x);
    const auto begin = std::chrono::steady_clock::now();
    const Status status = graph.run(executor_, {.deadline = begin + std::chrono::milliseconds(20)});
    EXPECT_THAT(status.code(), ::testing::AnyOf(StatusCode::kTimeout, StatusCode::kCancelled));
}

//  Three levels deep.
TEST_P(SubgraphTest, NestsDeeper) {
    TaskGraph middle(options());
    const auto m = middle.source<int>("m");
    const auto doubled = middle.add_repeat("double", 3, adding(2), m);
    TaskGraph graph(options());
    const auto x = graph.add("x", [] { return 1; });
    const auto y =
        graph.add_repeat("outer", 4, Subgraph(std::move(middle), Sources(m), doubled), x);
    ASSERT_TRUE(graph.run(executor_).ok());
    EXPECT_EQ(*graph.result(y), 25);
}

// --- sub-graphs that are wrong ---

TEST_P(SubgraphTest, CanBeGivenToOneNodeOnly) {
    const auto error_of = [this](TaskGraph& graph) { return graph.run(executor_).message(); };
    const auto explains = AllOf(HasSubstr("second: "), HasSubstr("was moved from"),
                                HasSubstr("a Subgraph, and a graph, of its own"));
    {
        TaskGraph graph(options());
        const auto x = graph.add("x", [] { return 1; });
        Subgraph<int(int)> step = adding(1);
        graph.add_subgraph("first", std::move(step), x);
        // NOLINTNEXTLINE(bugprone-use-after-move,clang-analyzer-cplusplus.Move): the mistake
        const auto second = graph.add_repeat("second", 2, std::move(step), x);
        graph.add(
            "user", [](int) {}, second);
        EXPECT_THAT(error_of(graph), explains);
    }
    {
        TaskGraph inner(options());
        inner.add("hello", [] {});
        Subgraph<void()> step(std::move(inner), Sources<>());
        TaskGraph graph(options());
        graph.add_subgraph("first", std::move(step));
        // NOLINTNEXTLINE(bugprone-use-after-move,clang-analyzer-cplusplus.Move): the mistake
        graph.add_subgraph("second", std::move(step));
        EXPECT_THAT(error_of(graph), explains);
    }
    {
        TaskGraph graph(options());
        const auto is_small = graph.add("is_small", [] { return true; });
        const auto x = graph.add("x", [] { return 1; });
        Subgraph<int(int)> step = adding(1);
        Subgraph<int(int)> other = std::move(step);
        // NOLINTNEXTLINE(bugprone-use-after-move,clang-analyzer-cplusplus.Move): the mistake
        graph.add_if("second", is_small, std::move(other), std::move(step), x);
        EXPECT_THAT(error_of(graph), explains);
    }
}

TEST_P(SubgraphTest, ItsSourcesAndItsResultAreItsOwnNodes) {
    TaskGraph other(options());
    const auto foreign = other.source<int>("foreign");
    const auto error_with = [&](const auto& make) {
        TaskGraph inner(options());
        const auto x = inner.source<int>("x");
        TaskGraph graph(options());
        const auto one = graph.add("one", [] { return 1; });
        graph.add_subgraph("inner", make(inner, x), one);
        return graph.run(executor_).message();
    };
    EXPECT_THAT(error_with([&](TaskGraph& inner, const Node<int>& x) {
                    const auto y = inner.add(
                        "y", [](int v) { return v; }, x);
                    return Subgraph(std::move(inner), Sources(foreign), y);
                }),
                AllOf(HasSubstr("inner: "), HasSubstr("source 0"),
                      HasSubstr("'foreign' of another graph")));
    EXPECT_THAT(error_with([&](TaskGraph& inner, const Node<int>& x) {
                    return Subgraph(std::move(inner), Sources(x), foreign);
                }),
                AllOf(HasSubstr("result"), HasSubstr("'foreign' of another graph")));
    EXPECT_THAT(error_with([&](TaskGraph& inner, const Node<int>& x) {
                    return Subgraph(std::move(inner), Sources(x), Node<int>());
                }),
                AllOf(HasSubstr("result"), HasSubstr("an empty handle")));
}

TEST_P(SubgraphTest, AGraphThatWasMovedFromHasErrorsAndEmptyHandles) {
    TaskGraph from(options());
    const auto x = from.source<int>("x");
    TaskGraph graph(std::move(from));
    // NOLINTBEGIN(bugprone-use-after-move,clang-analyzer-cplusplus.Move): what this is about
    EXPECT_THAT(from.run(executor_).message(), HasSubstr("moved from"));
    EXPECT_THAT(from.start(executor_).wait().message(), HasSubstr("moved from"));
    EXPECT_THAT(from.compile(executor_).message(), HasSubstr("moved from"));
    EXPECT_THAT(from.recompile().message(), HasSubstr("moved from"));
    EXPECT_THAT(from.make_instance(executor_).error().message(), HasSubstr("moved from"));
    EXPECT_THAT(from.set(x, 1).message(), HasSubstr("moved from"));
    EXPECT_THAT(from.take(x).error().message(), HasSubstr("moved from"));
    EXPECT_EQ(from.result(x), nullptr);
    EXPECT_EQ(from.add("a", [] { return 1; }).name(), "");
    EXPECT_EQ(from.add_subgraph("b", adding(1), x).name(), "");
    from.sink(x);
    from.resource("r");
    // NOLINTEND(bugprone-use-after-move,clang-analyzer-cplusplus.Move)
    ASSERT_TRUE(graph.set(x, 1).ok());
    EXPECT_TRUE(graph.run(executor_).ok());
}

// A graph cannot be inside of itself.
TEST_P(SubgraphTest, OfTheGraphItselfIsAnErrorWhereTheNodeIsUsed) {
    TaskGraph graph(options());
    const auto y = graph.add("y", [] { return 1; });
    // NOLINTNEXTLINE(bugprone-use-after-move,clang-analyzer-cplusplus.Move): the mistake
    const auto node = graph.add_subgraph("self", Subgraph(std::move(graph), Sources<>(), y));
    EXPECT_EQ(node.name(), "");
}

// --- many levels ---

// The value of the innermost source, through `levels` graphs that each add 1.
Subgraph<int(int)> nested(int levels, const GraphOptions& options) {
    Subgraph<int(int)> body = [&] {
        TaskGraph graph(options);
        const auto x = graph.source<int>("x");
        const auto y = graph.add(
            "add", [](int v) { return v + 1; }, x);
        return Subgraph(std::move(graph), Sources(x), y);
    }();
    for (int level = 1; level < levels; ++level) {
        TaskGraph graph(options);
        const auto x = graph.source<int>("x");
        const auto z = level % 2 == 0 ? graph.add_subgraph("s", std::move(body), x)
                                      : graph.add_repeat("r", 1, std::move(body), x);
        const auto y = graph.add(
            "add", [](int v) { return v + 1; }, z);
        body = Subgraph(std::move(graph), Sources(x), y);
    }
    return body;
}

TEST_P(SubgraphTest, AsManyLevelsAsThereMayBe) {
    GraphOptions traced = options();
    traced.is_traced = true;
    traced.trace_events_per_worker = 4;  // each level has room for so many
    TaskGraph graph(traced);
    const auto x = graph.add("x", [] { return 0; });
    const auto y = graph.add_subgraph("top", nested(kMostNested - 1, traced), x);
    for (int run = 0; run < 2; ++run) {
        const Status status = graph.run(executor_);
        ASSERT_TRUE(status.ok()) << status.message();
        EXPECT_EQ(*graph.result(y), kMostNested - 1);
    }
    EXPECT_NE(graph.trace_json().find("top/s/r/s/r"), std::string::npos);
}

TEST_P(SubgraphTest, MoreLevelsAreAnError) {
    for (const int levels : {kMostNested, kMostNested + 1, 20'000}) {
        TaskGraph graph(options());
        const auto x = graph.add("x", [] { return 0; });
        graph.add_subgraph("top", nested(levels, options()), x);
        const Status status = graph.run(executor_);
        EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
        EXPECT_THAT(status.message(), HasSubstr("sub-graphs inside of one another; found more "
                                                "than 400 graphs; needed at most 400"));
        EXPECT_FALSE(status.node().empty());
    }
}

INSTANTIATE_TEST_SUITE_P(Gears,
                         SubgraphTest,
                         ::testing::Values(Gear::kInline, Gear::kCompiled, Gear::kDynamic),
                         [](const auto& info) { return std::string(name_of(info.param)); });

}  // namespace
}  // namespace leat::scheduler
