// TaskGraph: values whose moves and copies throw. Each of them in turn, wherever the library makes
// one: the error comes back, no value leaks or is destroyed twice, and the graph runs again.
#include <gtest/gtest.h>

#include <atomic>
#include <exception>
#include <stdexcept>
#include <string>
#include <utility>

#include "leat/scheduler/task_graph.h"

namespace leat::scheduler {
namespace {

// A value that knows whether it is alive, and throws from the move or copy with a given number.
class Fragile {
  public:
    explicit Fragile(int number) : number_(number) { ++live_values; }
    Fragile(const Fragile& other) : number_(other.checked().number_) {
        may_throw();
        ++live_values;
    }
    // NOLINTNEXTLINE(performance-noexcept-move-constructor): its purpose
    Fragile(Fragile&& other) : number_(other.checked().number_) {
        may_throw();
        ++live_values;
    }
    Fragile& operator=(const Fragile&) = delete;
    Fragile& operator=(Fragile&&) = delete;
    ~Fragile() {
        wrong_ends += mark_ == kAlive ? 0 : 1;
        mark_ = kDead;
        --live_values;
    }

    int number() const { return checked().number_; }
    // The k-th from now on throws, counted from 1; 0: none does.
    static void throw_at(int k) {
        missing = k;
        has_thrown = false;
    }
    static bool threw() { return has_thrown; }
    static int live() { return live_values; }
    // Values that were destroyed or read when they were not alive.
    static int wrong() { return wrong_ends; }

  private:
    static constexpr int kAlive = 0x1234567;
    static constexpr int kDead = 0x7654321;

    const Fragile& checked() const {
        wrong_ends += mark_ == kAlive ? 0 : 1;
        return *this;
    }
    static void may_throw() {
        if (missing.load() > 0 && --missing == 0) {
            has_thrown = true;
            std::rethrow_exception(std::make_exception_ptr(std::runtime_error("fragile")));
        }
    }

    int number_;
    volatile int mark_ = kAlive;  // the compiler must not know what follows a destructor
    static inline std::atomic<int> live_values{0};
    static inline std::atomic<int> wrong_ends{0};
    static inline std::atomic<int> missing{0};
    static inline std::atomic<bool> has_thrown{false};
};

// NOLINTBEGIN(performance-unnecessary-value-param): nodes that own their inputs
class TaskGraphMovesTest : public ::testing::TestWithParam<Gear> {
  protected:
    void TearDown() override {
        EXPECT_EQ(Fragile::live(), 0) << "values leaked";
        EXPECT_EQ(Fragile::wrong(), 0) << "values were used after their end";
    }

    GraphOptions options() const { return {.gear = GetParam()}; }
    Subgraph<Fragile(Fragile)> adding(int by) const {
        TaskGraph graph(options());
        const auto x = graph.source<Fragile>("x");
        const auto y = graph.add(
            "add", [by](Fragile v) { return Fragile(v.number() + by); }, x);
        return Subgraph(std::move(graph), Sources(x), y);
    }
    // Runs with the first move failing, then with the second one, until all succeed. The number of
    // runs that failed.
    int sweep(TaskGraph& graph, const Node<Fragile>& source, const Node<Fragile>& result, int sum) {
        int failures = 0;
        for (bool has_failed = true; has_failed && !HasFailure();) {
            EXPECT_TRUE(graph.set(source, Fragile(1)).ok());
            Fragile::throw_at(failures + 1);
            const Status status = graph.run(executor_);
            has_failed = Fragile::threw();
            Fragile::throw_at(0);
            EXPECT_EQ(status.ok(), !has_failed);
            if (has_failed) {
                ++failures;
                EXPECT_EQ(status.code(), StatusCode::kUserException) << status.message();
                EXPECT_FALSE(status.node().empty());
                EXPECT_EQ(Fragile::live(), 0) << "after failure " << failures;
            } else {
                EXPECT_EQ(graph.result(result)->number(), sum);
            }
        }
        return failures;
    }

    Executor executor_{{.threads = 3, .pin = false, .source = ThreadSource::kStdThread}};
};

//  x --> own --> sum      both have x: copied, moved or shared
//   \--> see --^
TEST_P(TaskGraphMovesTest, InNodes) {
    TaskGraph graph(options());
    const auto x = graph.source<Fragile>("x");
    const auto own = graph.add(
        "own", [](Fragile v) -> Result<Fragile> { return Fragile(v.number() + 1); }, x);
    const auto see = graph
                         .add(
                             "see", [](const Fragile& v) { return Fragile(v.number() * 10); }, x)
                         .on(Domain::blocking());
    const auto sum = graph.add(
        "sum", [](Fragile a, Fragile b) { return Fragile(a.number() + b.number()); }, own, see);
    EXPECT_GE(sweep(graph, x, sum, 12), 4);
}

TEST_P(TaskGraphMovesTest, InSubgraphsAndBranches) {
    TaskGraph graph(options());
    const auto x = graph.source<Fragile>("x");
    const auto is_small = graph.add(
        "is_small", [](const Fragile& v) { return v.number() < 5; }, x);
    const auto once = graph.add_subgraph("once", adding(10), x);
    const auto branch = graph.add_if("branch", is_small, adding(100), adding(200), once);
    EXPECT_GE(sweep(graph, x, branch, 111), 4);
}

TEST_P(TaskGraphMovesTest, InLoops) {
    TaskGraph graph(options());
    const auto x = graph.source<Fragile>("x");
    const auto three = graph.add_repeat("three", 3, adding(10), x);
    const auto up = graph.add_while(
        "up", [](const Fragile& v) { return v.number() < 60; }, adding(20), three);
    EXPECT_GE(sweep(graph, x, up, 71), 10);
}

// Its initial state is copied, because "other" sees it as well.
TEST_P(TaskGraphMovesTest, InALoopInsideOfALoop) {
    TaskGraph middle(options());
    const auto m = middle.source<Fragile>("m");
    const auto inner = middle.add_repeat("inner", 2, adding(1), m);
    TaskGraph graph(options());
    const auto x = graph.source<Fragile>("x");
    const auto outer =
        graph.add_repeat("outer", 2, Subgraph(std::move(middle), Sources(m), inner), x);
    graph.add(
        "other", [](const Fragile&) {}, x);
    EXPECT_GE(sweep(graph, x, outer, 5), 10);
}

TEST_P(TaskGraphMovesTest, InSetAndTake) {
    TaskGraph graph(options());
    const auto x = graph.source<Fragile>("x");
    const auto y = graph.add(
        "y", [](const Fragile& v) { return Fragile(v.number()); }, x);
    Fragile value(7);
    Fragile::throw_at(2);  // the first one is the caller's own, to the parameter
    Status status = graph.set(x, value);
    EXPECT_EQ(status.code(), StatusCode::kUserException) << status.message();
    EXPECT_EQ(status.node(), "x");
    EXPECT_EQ(Fragile::live(), 1);
    EXPECT_EQ(graph.run(executor_).code(), StatusCode::kInvalidArgument) << "x has no value";
    ASSERT_TRUE(graph.set(x, value).ok());
    ASSERT_TRUE(graph.run(executor_).ok());

    int failures = 0;
    for (;; ++failures) {
        Fragile::throw_at(failures + 1);
        Result<Fragile> taken = graph.take(y);
        Fragile::throw_at(0);
        if (taken.ok()) {
            EXPECT_EQ(taken->number(), 7);
            break;
        }
        EXPECT_EQ(taken.error().code(), StatusCode::kUserException);
        ASSERT_NE(graph.result(y), nullptr) << "what was not taken stays";
    }
    EXPECT_GE(failures, 1);
    EXPECT_EQ(graph.take(y).error().code(), StatusCode::kNotFound);
}

// NOLINTEND(performance-unnecessary-value-param)
INSTANTIATE_TEST_SUITE_P(Gears,
                         TaskGraphMovesTest,
                         ::testing::Values(Gear::kInline, Gear::kCompiled, Gear::kDynamic),
                         [](const auto& info) { return std::string(name_of(info.param)); });

}  // namespace
}  // namespace leat::scheduler
