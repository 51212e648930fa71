// A Request that several threads use: reads go beside each other, everything else is right or
// kBusy.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <latch>
#include <optional>
#include <span>
#include <thread>
#include <vector>

#include "custom_operators.h"
#include "leat/leat.h"

namespace leat {
namespace {

using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr int64_t kCount = 1000;

// x --> acme.Gate --> y     which stays where it is until it is let go
class UsedRequest : public ::testing::Test {
  protected:
    UsedRequest() {
        CustomOperator custom;
        custom.domain = "acme";
        custom.name = "Gate";
        custom.inputs = {{.name = "x", .dtypes = {DType::kFloat32}}};
        custom.outputs = {{.name = "y"}};
        custom.infer = testing::infer_same;
        custom.kernels["cpu"].run = [this](const KernelCall& call) {
            if (is_closed_) {
                has_begun_.count_down();
                may_go_on_.wait();
            }
            return testing::copy_first(call);
        };
        EXPECT_TRUE(runtime_.register_operator(custom).ok());
        Graph graph("gate");
        const ValueId x = graph.input("x", DType::kFloat32, {"n"});
        graph.output("y", graph.add("acme.Gate", {x}));
        compiled_.emplace(*runtime_.compile(graph));
    }

    // Every call, by a thread that may not.
    static void expect_busy(Request& request, std::span<const float> x, const char* why) {
        const Shape shape{int64_t(x.size())};
        const Result<Value> output = request.output("y");
        const Result<std::vector<StepTime>> times = request.profile();
        const Tensor own = *Tensor::allocate(DType::kFloat32, shape);
        for (const Status& status :
             {request.run(), request.bind("x", shape, x), request.bind<float>("x", x),
              request.bind("x", Value(own)), request.bind_output("y", own),
              request.prepare({{"x", shape}}), output.error(), times.error()}) {
            EXPECT_EQ(status.code(), StatusCode::kBusy);
            EXPECT_THAT(status.message(), HasSubstr(why));
        }
        request.trim();
        EXPECT_THAT(request.get<float>("y"), IsEmpty());
        EXPECT_EQ(request.threads_used(), 0);
        EXPECT_EQ(request.plan_report().step_count, 0);
        EXPECT_EQ(request.run_report().runs, 0);
        EXPECT_THAT(request.division().shards, IsEmpty());
        EXPECT_THAT(request.placement_report().memory, IsEmpty());
        EXPECT_EQ(request.trace_json(), "{\"traceEvents\":[]}\n");
    }

    std::atomic<bool> is_closed_{true};
    std::latch has_begun_{1};
    std::latch may_go_on_{1};
    Runtime runtime_{{.threads = 2}};
    std::optional<CompiledGraph> compiled_;
};

TEST_F(UsedRequest, IsBusyForOthers) {
    Request request = *compiled_->make_request();
    const std::vector<float> x(kCount, 3);
    const std::vector<float> other(kCount, 4);
    ASSERT_TRUE(request.bind("x", {kCount}, std::span<const float>(x)).ok());
    Status status;
    std::thread runner([&] { status = request.run(); });
    has_begun_.wait();
    expect_busy(request, other, "the request is in use by another call");
    may_go_on_.count_down();
    runner.join();
    EXPECT_TRUE(status.ok()) << status.message();
    EXPECT_THAT(request.get<float>("y"), Each(3.0F));
}

TEST_F(UsedRequest, IsBusyInFlight) {
    RequestQueue queue = *RequestQueue::make(*compiled_, {.depth = 1});
    const std::vector<float> x(kCount, 3);
    const std::vector<float> other(kCount, 4);
    ASSERT_TRUE(queue.next().bind("x", {kCount}, std::span<const float>(x)).ok());
    is_closed_ = false;
    ASSERT_TRUE(queue.submit().ok());
    expect_busy(queue.next(), other, "the request is in flight");
    const Result<Request*> taken = queue.take();
    ASSERT_TRUE(taken.ok()) << taken.error().message();
    EXPECT_THAT((*taken)->get<float>("y"), Each(3.0F));
    EXPECT_TRUE((*taken)->run().ok());
}

TEST_F(UsedRequest, OfAQueueIsTakenByOneThread) {
    RequestQueue queue = *RequestQueue::make(*compiled_, {.depth = 2});
    const std::vector<float> x(kCount, 3);
    ASSERT_TRUE(queue.next().bind("x", {kCount}, std::span<const float>(x)).ok());
    Status status;
    std::thread taker([&] {
        status = queue.submit();
        status = status.ok() ? queue.take().error() : status;
    });
    has_begun_.wait();
    // Whoever runs the kernel holds the queue, or a helper does and the taker waits for it.
    while (queue.submit().code() != StatusCode::kBusy) {
        std::this_thread::yield();
    }
    EXPECT_EQ(queue.take().error().code(), StatusCode::kBusy);
    may_go_on_.count_down();
    taker.join();
    EXPECT_TRUE(status.ok()) << status.message();
}

TEST_F(UsedRequest, IsReadByManyThreads) {
    is_closed_ = false;
    Request request = *compiled_->make_request();
    const std::vector<float> x(kCount, 1);
    ASSERT_TRUE(request.bind("x", {kCount}, std::span<const float>(x)).ok());
    ASSERT_TRUE(request.run().ok());
    std::atomic<int> misses{0};
    const auto read = [&] {
        for (int i = 0; i < 2000; ++i) {
            misses += request.get<float>("y").empty() || !request.output("y").ok() ||
                              request.plan_report().step_count == 0
                          ? 1
                          : 0;
        }
    };
    std::thread other(read);
    read();
    other.join();
    EXPECT_EQ(misses, 0);
}

// Two threads that share a request by mistake: every run is right or refused.
TEST_F(UsedRequest, IsRightOrBusyForManyThreads) {
    is_closed_ = false;
    Request request = *compiled_->make_request();
    const std::vector<float> x(kCount, 1);
    ASSERT_TRUE(request.bind("x", {kCount}, std::span<const float>(x)).ok());
    std::atomic<int> successes{0};
    std::atomic<int> others{0};
    const auto work = [&] {
        for (int i = 0; i < 500; ++i) {
            const Status status = i % 10 == 9 ? request.prepare({{"x", {kCount}}}) : request.run();
            successes += status.ok() ? 1 : 0;
            others += !status.ok() && status.code() != StatusCode::kBusy ? 1 : 0;
            request.trim();
        }
    };
    std::thread first(work);
    std::thread second(work);
    first.join();
    second.join();
    EXPECT_GT(successes, 0);
    EXPECT_EQ(others, 0);
    ASSERT_TRUE(request.run().ok());
    EXPECT_THAT(request.get<float>("y"), Each(1.0F));
}

}  // namespace
}  // namespace leat
