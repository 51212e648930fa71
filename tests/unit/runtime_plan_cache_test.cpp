// Plans for new shapes, made by several threads while others run, report and make requests.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <stop_token>
#include <thread>
#include <vector>

#include "custom_operators.h"
#include "graph/graph_data.h"
#include "leat/leat.h"
#include "leat/request_queue.h"
#include "support/saved_graphs.h"

namespace leat {
namespace {

using namespace std::chrono_literals;

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr int64_t kSlow = 7;  // an extent whose plans wait at the gate

// Inference of acme.Gated calls this for each extent; it stands still where the gate is closed.
class Gate {
  public:
    void close() {
        const std::lock_guard lock(mutex_);
        is_open_ = false;
    }
    void open() {
        const std::lock_guard lock(mutex_);
        is_open_ = true;
        changed_.notify_all();
    }
    Status pass(int64_t extent) {
        std::unique_lock lock(mutex_);
        ++calls_[extent];
        if (extent == kSlow) {
            ++waiting_;
            changed_.notify_all();
            changed_.wait(lock, [this] { return is_open_; });
            --waiting_;
            return slow_result_;
        }
        return {};
    }
    void wait_for_planner() {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [this] { return waiting_ > 0; });
    }
    void answer_slow_ones(Status status) {
        const std::lock_guard lock(mutex_);
        slow_result_ = std::move(status);
    }
    std::map<int64_t, int> calls() const {
        const std::lock_guard lock(mutex_);
        return calls_;
    }

  private:
    mutable std::mutex mutex_;
    std::condition_variable changed_;
    bool is_open_ = true;
    int waiting_ = 0;
    std::map<int64_t, int> calls_;  // by extent
    Status slow_result_;
};

// y = x, whose inference passes the gate.
CustomOperator gated_operator(Gate& gate) {
    CustomOperator gated = testing::same_shape_operator("Gated", testing::copy_first);
    gated.infer = [&gate](OperatorInference& inference) {
        const auto& dims = inference.dims(0);
        if (dims && (*dims)[0].is_fixed()) {
            Status status = gate.pass((*dims)[0].extent());
            return status.ok() ? testing::infer_same(inference) : status;
        }
        return testing::infer_same(inference);
    };
    return gated;
}

//  x [n, 16] -- Gated -- MatMul(w) -- Add(x) -- y     w: 3 on the diagonal
Graph gated_graph() {
    Graph graph("gated");
    std::vector<float> w(256, 0);
    for (size_t i = 0; i < 16; ++i) {
        w[i * 17] = 3;
    }
    const ValueId x = graph.input("x", DType::kFloat32, {"n", 16});
    const ValueId gated = graph.add("acme.Gated", {x}, {}, "gated");
    const ValueId product =
        graph.add("MatMul", {gated, graph.constant("w", *Tensor::from<float>({16, 16}, w))});
    graph.output("y", graph.add("Add", {product, x}));
    return graph;
}

// Joined at the latest at its end.
class Threads {
  public:
    ~Threads() { join(); }
    // Calls body(0) to body(count - 1), each on a thread.
    void start(int count, const std::function<void(int)>& body) {
        threads_.reserve(threads_.size() + size_t(count));
        for (int i = 0; i < count; ++i) {
            threads_.emplace_back([body, i] { body(i); });
        }
    }
    void join() {
        for (std::thread& thread : threads_) {
            thread.join();
        }
        threads_.clear();
    }

  private:
    std::vector<std::thread> threads_;
};

class NewShapes : public ::testing::Test {
  protected:
    NewShapes() {
        const Status status = runtime_.register_operator(gated_operator(gate_));
        EXPECT_TRUE(status.ok()) << status.message();
        compiled_.emplace(*runtime_.compile(gated_graph()));
    }

    static Status run(Request& request, int64_t n, float first, const RunOptions& options = {}) {
        std::vector<float> x(size_t(n) * 16);
        for (size_t i = 0; i < x.size(); ++i) {
            x[i] = first + float(i);
        }
        const Tensor tensor = *Tensor::from<float>({n, 16}, x);
        if (Status status = request.bind("x", tensor); !status.ok()) {
            return status;
        }
        if (Status status = request.run(options); !status.ok()) {
            return status;
        }
        const auto y = request.get<float>("y");
        EXPECT_EQ(y.size(), x.size());
        for (size_t i = 0; i < y.size(); ++i) {
            EXPECT_EQ(y[i], 4 * x[i]) << "element " << i << " of " << n << " rows";
        }
        return {};
    }
    Status run_new(int64_t n, float first, const RunOptions& options = {}) const {
        Request request = *compiled_->make_request();
        return run(request, n, first, options);
    }
    // The extents that there are plans for; each once.
    std::multiset<int64_t> planned() const {
        std::multiset<int64_t> extents;
        for (const PlanReport& plan : compiled_->report().plans) {
            extents.insert(plan.shapes.at("x")[0]);
        }
        return extents;
    }

    Gate gate_;
    const Runtime runtime_{testing_support::without_numa(3)};
    std::optional<CompiledGraph> compiled_;
};

TEST_F(NewShapes, ArePlannedOnceWhileOthersRunReportAndMakeRequests) {
    constexpr int64_t kExtents = 24;
    constexpr int kThreads = 8;
    // How often one planning calls the operator's inference.
    const std::map<int64_t, int> before = gate_.calls();
    ASSERT_TRUE(run_new(1000, 1).ok());
    const int calls_of_plan = gate_.calls().at(1000);
    ASSERT_GE(calls_of_plan, 1);

    std::atomic<int> planners{kThreads};
    const auto plan_all = [&](int t) {
        Request request = *compiled_->make_request();
        for (int64_t i = 0; i < kExtents; ++i) {
            // Two threads each begin with the same shape, and all meet all of them.
            const int64_t n = 1 + (i + int64_t{6} * (t / 2)) % kExtents;
            const Status status = run(request, n, float(t));
            EXPECT_TRUE(status.ok()) << status.message();
        }
        --planners;
    };
    const auto run_known = [&] {
        const Status status = run_new(1000, 2);
        EXPECT_TRUE(status.ok()) << status.message();
    };
    const auto report = [&] { EXPECT_GE(compiled_->report().plans.size(), 1U); };
    const auto make_requests = [&] {
        EXPECT_TRUE(compiled_->make_request().ok());
        EXPECT_TRUE(compiled_->prepare({{"x", Shape{1000, 16}}}).ok());
    };
    const std::function<void()> others[] = {run_known, report, make_requests};
    Threads threads;
    threads.start(kThreads, plan_all);
    threads.start(3, [&](int t) {
        do {
            others[t]();
        } while (planners > 0);
    });
    threads.join();
    std::multiset<int64_t> expected{1000};
    std::map<int64_t, int> calls = before;
    calls[1000] = calls_of_plan;
    for (int64_t n = 1; n <= kExtents; ++n) {
        expected.insert(n);
        calls[n] = calls_of_plan;
    }
    EXPECT_EQ(planned(), expected);
    EXPECT_EQ(gate_.calls(), calls);
}

TEST_F(NewShapes, HoldUpNobodyWhoNeedsOtherPlans) {
    ASSERT_TRUE(run_new(1, 1).ok());
    gate_.close();
    std::thread planner([&] {
        const Status status = run_new(kSlow, 2);
        EXPECT_TRUE(status.ok()) << status.message();
    });
    gate_.wait_for_planner();
    // All of this ends while that plan is being made.
    EXPECT_EQ(planned(), std::multiset<int64_t>{1});
    EXPECT_TRUE(run_new(1, 3).ok());
    EXPECT_TRUE(run_new(5, 4).ok());
    EXPECT_TRUE(compiled_->prepare({{"x", Shape{6, 16}}}).ok());
    EXPECT_TRUE(compiled_->memory_dial({{"x", Shape{6, 16}}}).ok());
    EXPECT_EQ(planned(), (std::multiset<int64_t>{1, 5, 6}));
    gate_.open();
    planner.join();
    EXPECT_EQ(planned(), (std::multiset<int64_t>{1, 5, 6, kSlow}));
}

// What is above 0, times two: the second segment passes the gate with its number of elements.
Graph gated_segment() {
    Graph graph("gated_segment");
    const ValueId x = graph.input("x", DType::kFloat32, {"n"});
    const ValueId zero = graph.constant("zero", *Tensor::from<float>({}, std::vector<float>{0}));
    const ValueId all =
        graph.constant("all", *Tensor::from<int64_t>({1}, std::vector<int64_t>{-1}));
    const ValueId found = graph.add("NonZero", {graph.add("Greater", {x, zero})});
    const ValueId kept = graph.add("Gather", {x, graph.add("Reshape", {found, all})});
    graph.output("y", graph.add("Add", {graph.add("acme.Gated", {kept}), kept}));
    return graph;
}

TEST_F(NewShapes, OfASegmentHoldUpNobodyWhoNeedsOtherPlans) {
    const CompiledGraph segments = *runtime_.compile(gated_segment());
    ASSERT_EQ(segments.report().segments.size(), 2U);
    const auto run_with = [&](int64_t above) {
        std::vector<float> x(20, -1);
        std::fill_n(x.begin(), above, 3.0F);
        Request request = *segments.make_request();
        EXPECT_TRUE(request.bind("x", *Tensor::from<float>({20}, x)).ok());
        const Status status = request.run();
        EXPECT_TRUE(status.ok()) << status.message();
        const auto y = request.get<float>("y");
        EXPECT_EQ(std::vector<float>(y.begin(), y.end()), std::vector<float>(size_t(above), 6.0F));
    };
    run_with(1);
    gate_.close();
    std::thread planner([&] { run_with(kSlow); });
    gate_.wait_for_planner();
    // All of this ends while that plan is being made.
    const int64_t made = segments.report().planning.made;
    run_with(1);
    run_with(5);
    run_with(0);
    EXPECT_TRUE(segments.prepare({{"x", Shape{30}}}).ok());
    EXPECT_EQ(segments.report().planning.made, made + 3);
    gate_.open();
    planner.join();
    EXPECT_EQ(segments.report().planning.made, made + 4);
}

TEST_F(NewShapes, EndAWaitAtItsDeadlineAndByItsStopToken) {
    gate_.close();
    std::thread planner([&] {
        // The deadline passes while this call plans: the plan is made for the others.
        EXPECT_EQ(run_new(kSlow, 1, {.deadline = 1ms}).code(), StatusCode::kTimeout);
    });
    gate_.wait_for_planner();
    Request request = *compiled_->make_request();
    const Status late = run(request, kSlow, 2, {.deadline = 20ms});
    EXPECT_EQ(late.code(), StatusCode::kTimeout);
    EXPECT_THAT(late.message(), HasSubstr("another thread"));
    std::stop_source stop;
    std::thread stopper([&] { stop.request_stop(); });
    EXPECT_EQ(run(request, kSlow, 3, {.stop = stop.get_token()}).code(), StatusCode::kCancelled);
    stopper.join();
    // A queue hands its deadline on, too.
    RequestQueue queue = *RequestQueue::make(*compiled_);
    EXPECT_TRUE(
        queue.next().bind("x", *Tensor::from<float>({kSlow, 16}, std::vector<float>(112, 1))).ok());
    EXPECT_EQ(queue.submit({.deadline = 1ms}).code(), StatusCode::kTimeout);
    EXPECT_TRUE(queue.is_empty());

    std::this_thread::sleep_for(2ms);  // the planner's deadline
    gate_.open();
    planner.join();
    const int calls = gate_.calls().at(kSlow);
    const Status status = run(request, kSlow, 4);
    EXPECT_TRUE(status.ok()) << status.message();
    EXPECT_EQ(gate_.calls().at(kSlow), calls);  // it was planned already
    EXPECT_EQ(planned(), std::multiset<int64_t>{kSlow});
}

TEST_F(NewShapes, TellAllWhoWaitWhyThereIsNoPlan) {
    for (const StatusCode code : {StatusCode::kInvalidArgument, StatusCode::kCancelled}) {
        gate_.close();
        gate_.answer_slow_ones(Status(code, "not these"));
        Threads threads;
        threads.start(4, [&](int /*t*/) {
            const Status status = run_new(kSlow, 1);
            EXPECT_EQ(status.code(), code);
            EXPECT_THAT(status.message(), HasSubstr("not these"));
        });
        gate_.wait_for_planner();
        gate_.open();
        threads.join();
        EXPECT_TRUE(planned().empty());
        gate_.answer_slow_ones({});
    }
    const Status status = run_new(kSlow, 2);
    EXPECT_TRUE(status.ok()) << status.message();
}

// Nothing of a plan above the memory limit is kept, and those below go on.
TEST_F(NewShapes, OverTheMemoryLimitFailForAll) {
    CompileOptions options;
    options.memory_limit_bytes = 1 << 19;
    options.max_requests = 8;
    compiled_.emplace(*runtime_.compile(gated_graph(), options));
    Threads threads;
    threads.start(8, [&](int t) {
        Request request = *compiled_->make_request();
        for (int i = 0; i < 4; ++i) {
            EXPECT_EQ(run(request, 5000, 1).code(), StatusCode::kOutOfMemory);
            const Status status = run(request, 1 + (t + i) % 4, 2);
            EXPECT_TRUE(status.ok()) << status.message();
        }
    });
    threads.join();
    EXPECT_EQ(planned(), (std::multiset<int64_t>{1, 2, 3, 4}));
}

// A kernel runs another graph, on the same executor, for a shape that is being planned: all tiles
// want the plan, and one of them, or a thread outside, makes it.
TEST_F(NewShapes, MayBeWantedByTasksOfTheExecutorThatRunsThem) {
    constexpr int64_t kTiles = 12;
    CustomOperator outer = testing::same_shape_operator("Outer", [this](const KernelCall& call) {
        for (int64_t tile = call.tile_begin; tile < call.tile_end; ++tile) {
            if (Status status = run_new(kSlow, float(tile)); !status.ok()) {
                return status;
            }
        }
        return Status();
    });
    outer.kernels["cpu"].tile_count = [](const OperatorCall&) { return kTiles; };
    outer.cost = [](const OperatorCall&) { return OperatorCost{1e9, 0}; };
    ASSERT_TRUE(runtime_.register_operator(outer).ok());
    Graph graph("outer");
    const ValueId x = graph.input("x", DType::kFloat32, {4});
    graph.output("y", graph.add("acme.Outer", {x}));
    const CompiledGraph tasks = *runtime_.compile(graph);
    for (const bool is_planned_outside : {false, true}) {
        compiled_.emplace(*runtime_.compile(gated_graph()));
        Request request = *tasks.make_request();
        ASSERT_TRUE(request.bind("x", Shape{4}, std::span<const float>({1, 2, 3, 4})).ok());
        std::thread planner;
        if (is_planned_outside) {
            gate_.close();
            planner = std::thread([&] { EXPECT_TRUE(run_new(kSlow, 1).ok()); });
            gate_.wait_for_planner();
        }
        std::thread opener([&] { gate_.open(); });
        const Status status = request.run();
        EXPECT_TRUE(status.ok()) << status.message();
        opener.join();
        if (planner.joinable()) {
            planner.join();
        }
        EXPECT_EQ(planned(), std::multiset<int64_t>{kSlow});
    }
}

// Of a graph with default inputs, each set of open ones is a graph of its own.
TEST_F(NewShapes, OfDefaultInputsThatAreBoundHoldUpNobody) {
    // y = x; inference passes the gate where x is no constant.
    CustomOperator free = testing::same_shape_operator("Free", testing::copy_first);
    free.infer = [this](OperatorInference& inference) {
        const Status status = inference.value(0) == nullptr ? gate_.pass(kSlow) : Status();
        return status.ok() ? testing::infer_same(inference) : status;
    };
    ASSERT_TRUE(runtime_.register_operator(free).ok());
    //  c -- Free -- Add(x) -- Mul(d) -- y
    Graph graph("defaults");
    const ValueId x = graph.input("x", DType::kFloat32, {2});
    const auto default_input = [&graph](const char* name, const std::vector<float>& values) {
        graph.data().default_inputs.push_back({name, TypeInfo::tensor(DType::kFloat32, Shape{2})});
        return graph.constant(name, *Tensor::from<float>({2}, values));
    };
    const ValueId c = graph.add("acme.Free", {default_input("c", {1, 2})});
    const ValueId d = default_input("d", {3, 4});
    graph.output("y", graph.add("Mul", {graph.add("Add", {x, c}), d}));
    compiled_.emplace(*runtime_.compile(graph));
    const auto results = [this](const char* name, const std::vector<float>& values) {
        Request request = *compiled_->make_request();
        EXPECT_TRUE(request.bind("x", Shape{2}, std::span<const float>({10, 20})).ok());
        const Status bound = request.bind(name, *Tensor::from<float>({2}, values));
        EXPECT_TRUE(bound.ok()) << bound.message();
        EXPECT_TRUE(request.run().ok());
        const auto y = request.get<float>("y");
        return std::vector<float>(y.begin(), y.end());
    };
    gate_.close();
    Threads openers;
    openers.start(4, [&](int /*t*/) { EXPECT_THAT(results("c", {5, 6}), ElementsAre(45, 104)); });
    gate_.wait_for_planner();
    EXPECT_THAT(results("d", {1, 1}), ElementsAre(11, 22));
    EXPECT_EQ(compiled_->report().plans.size(), 2U);
    gate_.open();
    openers.join();
    EXPECT_EQ(compiled_->report().plans.size(), 3U);
}

TEST_F(NewShapes, AreRefusedWhereTheirOwnPlanningAsksForThem) {
    const CustomOperator cyclic = [this] {
        CustomOperator made = testing::same_shape_operator("Cyclic", testing::copy_first);
        made.infer = [this](OperatorInference& inference) {
            const auto& dims = inference.dims(0);
            if (dims && (*dims)[0].is_fixed()) {
                Request request = *compiled_->make_request();
                const std::vector<float> x(size_t((*dims)[0].extent()), 1);
                const Status status =
                    request.bind("x", Shape{int64_t(x.size())}, std::span<const float>(x));
                return status.ok() ? request.run() : status;
            }
            return testing::infer_same(inference);
        };
        return made;
    }();
    ASSERT_TRUE(runtime_.register_operator(cyclic).ok());
    Graph graph("cyclic");
    graph.output("y", graph.add("acme.Cyclic", {graph.input("x", DType::kFloat32, {"n"})}));
    compiled_.emplace(*runtime_.compile(graph));
    EXPECT_EQ(compiled_->prepare({{"x", Shape{3}}}).code(), StatusCode::kBusy);
    EXPECT_TRUE(compiled_->report().plans.empty());
}

}  // namespace
}  // namespace leat
