// Task graphs without memory: each allocation fails in turn, that of the calling thread or that of
// any thread, alone or with all that follow. What comes back is a Status, and the graph runs again.
#include <gtest/gtest.h>

#include <memory>
#include <new>
#include <string>
#include <utility>

#include "leat/scheduler/task_graph.h"
#include "support/counted.h"
#include "support/failing_allocations.h"

namespace leat::scheduler {
namespace {

using testing_support::Allocation;
using testing_support::Counted;
using testing_support::Fault;
using testing_support::FaultOfAll;
using testing_support::Reach;

// Longer than what a string keeps inside.
std::string text_of(int number) {
    return std::string(100, 'x') + std::to_string(number);
}

//  x --> join --> sub-graph --> loop --> pool --> check --> y
//   \--> copy --^
// NOLINTBEGIN(performance-unnecessary-value-param): nodes that own their inputs
class Network {
  public:
    explicit Network(const GraphOptions& options) : graph(options) {
        x = graph.source<std::string>("x");
        const auto copy = graph.add(
            "a node with a name that needs memory of its own", [](std::string v) { return v; }, x);
        const auto join = graph.add(
            "join", [](const std::string& a, const std::string& b) { return a + b; }, x, copy);
        const auto once = graph.add_subgraph("sub-graph", adding(options), join);
        const auto loop = graph.add_repeat("loop", 3, adding(options), once);
        const auto pool =
            graph
                .add(
                    "pool", [](std::string v) { return std::make_unique<std::string>(v); }, loop)
                .on(Domain::blocking());
        y = graph.add(
            "check",
            [this](NodeScope& scope, const std::unique_ptr<std::string>& v) -> Result<Counted> {
                Status status = scope.parallel_for(64, 1, [this](int64_t, int64_t) {
                    return fails ? Status(StatusCode::kNotFound, text_of(0)) : Status();
                });
                return status.ok() ? Result<Counted>(Counted(int(v->size()))) : std::move(status);
            },
            pool);
    }

    // Before run(): the caller's own allocations are not meant to fail.
    Network& prepared() {
        input_ = text_of(1);
        return *this;
    }
    // The value of y, or why there is none.
    Result<int> run(Executor& executor, bool is_started) {
        Status status = graph.set(x, std::move(input_));
        if (status.ok()) {
            status = is_started ? graph.start(executor).wait() : graph.run(executor);
        }
        return status.ok() ? taken(graph.take(y)) : Result<int>(std::move(status));
    }
    Result<int> run_instance(const Executor& compiled_for, Executor& executor) {
        Result<GraphInstance> instance = graph.make_instance(compiled_for);
        if (!instance.ok()) {
            return std::move(instance).error();
        }
        Status status = instance->set(x, std::move(input_));
        if (status.ok()) {
            status = instance->run(executor);
        }
        return status.ok() ? taken(instance->take(y)) : Result<int>(std::move(status));
    }
    static constexpr int kExpected = 2 * 101 + 4;

    TaskGraph graph;
    Node<std::string> x;
    Node<Counted> y;
    bool fails = false;  // the node "check"

  private:
    std::string input_;

    static Subgraph<std::string(std::string)> adding(const GraphOptions& options) {
        TaskGraph inner(options);
        const auto s = inner.source<std::string>("s");
        const auto t = inner.add(
            "add", [](std::string v) { return v + "+"; }, s);
        return Subgraph(std::move(inner), Sources(s), t);
    }
    static Result<int> taken(Result<Counted> value) {
        return value.ok() ? Result<int>(value->number()) : Result<int>(std::move(value).error());
    }
};

// NOLINTEND(performance-unnecessary-value-param)

struct Setting {
    Gear gear;
    bool is_of_all;  // threads, or of the calling one
    Reach reach;
};

class TaskGraphMemoryTest : public ::testing::TestWithParam<Setting> {
  protected:
    void TearDown() override { EXPECT_EQ(Counted::live(), 0) << "values leaked"; }

    static GraphOptions options() { return {.gear = GetParam().gear, .is_traced = true}; }

    // Calls trial() with the first allocation failing, then with the second one, until none does.
    // trial() calls what it is given once, with the fault, and returns what came of it.
    template <class Trial>
    static int64_t sweep(const Trial& trial, StatusCode other_code = StatusCode::kOk) {
        int64_t failures = 0;
        for (bool has_failed = true; has_failed && !HasFailure();) {
            const Outcome outcome = call(trial, failures + 1);
            has_failed = outcome.has_struck;
            failures += has_failed ? 1 : 0;
            const StatusCode code = outcome.status.code();
            EXPECT_TRUE(code == other_code || (has_failed && code == StatusCode::kOutOfMemory))
                << "allocation " << failures << ": " << outcome.status.message();
        }
        return failures;
    }

  private:
    struct Outcome {
        Status status;
        bool has_struck;
    };
    template <class Trial>
    static Outcome call(const Trial& trial, int64_t k) {
        bool has_struck = false;
        const auto with_fault = [&](const auto& function) {
            if (!GetParam().is_of_all) {
                Fault fault(Allocation::kNew, GetParam().reach, k);
                auto result = fault.during(function);
                has_struck = fault.has_struck();
                return result;
            }
            const FaultOfAll fault(GetParam().reach, k);
            auto result = function();
            has_struck = FaultOfAll::has_struck();
            return result;
        };
        Status status = trial(with_fault);
        return {std::move(status), has_struck};
    }
};

TEST_P(TaskGraphMemoryTest, OfTheFirstRun) {
    Executor executor({.threads = 3, .pin = false, .source = ThreadSource::kStdThread});
    for (const bool is_started : {false, true}) {
        const int64_t failures = sweep([&](const auto& with_fault) {
            Network network(options());
            network.prepared();
            Result<int> first = with_fault([&] { return network.run(executor, is_started); });
            const Result<int> second = network.prepared().run(executor, !is_started);
            EXPECT_TRUE(second.ok()) << second.error().message();
            EXPECT_EQ(*second, Network::kExpected);
            EXPECT_TRUE(!first.ok() || *first == Network::kExpected);
            return std::move(first).error();
        });
        EXPECT_GT(failures, 50);
    }
}

// Nothing is compiled: what is left is what nodes allocate, and the handle.
TEST_P(TaskGraphMemoryTest, OfALaterRun) {
    Executor executor({.threads = 3, .pin = false, .source = ThreadSource::kStdThread});
    Network network(options());
    ASSERT_TRUE(network.prepared().run(executor, true).ok());
    for (const bool is_started : {false, true}) {
        const int64_t failures = sweep([&](const auto& with_fault) {
            network.prepared();
            Result<int> run = with_fault([&] { return network.run(executor, is_started); });
            EXPECT_TRUE(network.prepared().run(executor, is_started).ok());
            return std::move(run).error();
        });
        EXPECT_GT(failures, GetParam().is_of_all ? 5 : -1) << "helpers may run all nodes";
    }
}

// An error of a node comes back with its own code, or without memory.
TEST_P(TaskGraphMemoryTest, OfARunThatFails) {
    Executor executor({.threads = 3, .pin = false, .source = ThreadSource::kStdThread});
    Network network(options());
    ASSERT_TRUE(network.prepared().run(executor, false).ok());
    const int64_t failures = sweep(
        [&](const auto& with_fault) {
            network.prepared();
            network.fails = true;
            Result<int> run = with_fault([&] { return network.run(executor, false); });
            network.fails = false;
            EXPECT_TRUE(network.prepared().run(executor, false).ok());
            return std::move(run).error();
        },
        StatusCode::kNotFound);
    EXPECT_GT(failures, GetParam().is_of_all ? 5 : -1) << "helpers may run all nodes";
}

TEST_P(TaskGraphMemoryTest, OfAnInstanceAndOfCompilingAgain) {
    Executor executor({.threads = 3, .pin = false, .source = ThreadSource::kStdThread});
    const Executor other({.threads = 2, .pin = false, .source = ThreadSource::kStdThread});
    Network network(options());
    ASSERT_TRUE(network.prepared().run(executor, false).ok());
    const Executor* compiled_for = &executor;
    const auto make_and_run = [&](const auto& with_fault) {
        network.prepared();
        Result<int> run = with_fault([&] { return network.run_instance(*compiled_for, executor); });
        return std::move(run).error();
    };
    EXPECT_GT(sweep(make_and_run), 20);
    compiled_for = &other;
    EXPECT_GT(sweep(make_and_run), 50) << "for other workers the graph is compiled again";
    const int64_t failures = sweep([&](const auto& with_fault) {
        Status status = with_fault([&] { return network.graph.recompile(); });
        EXPECT_EQ(*network.prepared().run(executor, false), Network::kExpected);
        return status;
    });
    EXPECT_GT(failures, 20);
}

// Adds to a graph that has the node `one`. What builds a graph returns no Status.
Status build_more(TaskGraph& graph, const Node<int>& one) {
    try {
        const auto two = graph.add(
            "a node with a name that needs memory of its own", [](int v) { return v + 1; }, one);
        two.after(one);
        two.writes(graph.resource("a resource with a name that needs memory of its own"));
        return {};
    } catch (const std::bad_alloc&) {
        return Status::bare(StatusCode::kOutOfMemory);
    }
}

// Building throws, and the graph is as it was before.
TEST_P(TaskGraphMemoryTest, OfBuilding) {
    Executor executor({.threads = 1});
    const int64_t failures = sweep([&](const auto& with_fault) {
        TaskGraph graph(options());
        const auto one = graph.add("one", [] { return 1; });
        Status status = with_fault([&] { return build_more(graph, one); });
        EXPECT_TRUE(graph.run(executor).ok());
        return status;
    });
    EXPECT_GT(failures, 3);
}

std::string name_of_setting(const ::testing::TestParamInfo<Setting>& info) {
    return std::string(name_of(info.param.gear)) + (info.param.is_of_all ? "_any" : "_caller") +
           (info.param.reach == Reach::kOne ? "_one" : "_all_from");
}

// With a node in the pool the outer graph is never inline, the sub-graphs are.
constexpr Setting kSettings[] = {
    {Gear::kInline, false, Reach::kOne},     {Gear::kCompiled, false, Reach::kOne},
    {Gear::kDynamic, false, Reach::kOne},    {Gear::kInline, true, Reach::kOne},
    {Gear::kDynamic, true, Reach::kOne},     {Gear::kDynamic, true, Reach::kAllFrom},
    {Gear::kDynamic, false, Reach::kAllFrom}};

INSTANTIATE_TEST_SUITE_P(Settings,
                         TaskGraphMemoryTest,
                         ::testing::ValuesIn(kSettings),
                         name_of_setting);

}  // namespace
}  // namespace leat::scheduler
