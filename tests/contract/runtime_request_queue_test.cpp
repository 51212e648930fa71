// RequestQueue: order, errors of one among several, ends, and what it refuses.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <vector>

#include "leat/leat.h"
#include "support/device_runs.h"
#include "support/random_tensor.h"
#include "support/virtual_clock/virtual_clock.h"
#include "support/virtual_clock/virtual_queue.h"

namespace leat {
namespace {

using testing_support::clocked_runtime;
using testing_support::random_tensor;
using testing_support::sim_options;
using testing_support::VirtualQueue;

// y = tanh(a) + b; the first node on `device`, if there is one.
//
//  a --> Tanh --> Add --> y
//          b -----/
Result<CompiledGraph> compiled_sum(const Runtime& runtime, const std::string& device = {}) {
    Graph graph("sum");
    const ValueId a = graph.input("a", DType::kFloat32, {64, 64});
    const ValueId b = graph.input("b", DType::kFloat32, {64, 64});
    graph.output("y", graph.add("Add", {graph.add("Tanh", {a}, {}, "tanh"), b}, {}, "add"));
    CompileOptions options;
    options.requests_in_flight = 3;
    if (!device.empty()) {
        options.devices = device + ",reference";
        options.pins = {{"tanh", device}, {"add", "reference"}};
    }
    return runtime.compile(graph, options);
}

void bind(Request& request, uint64_t number) {
    EXPECT_TRUE(request.bind("a", random_tensor({64, 64}, number)).ok());
    EXPECT_TRUE(request.bind("b", random_tensor({64, 64}, 1000 + number)).ok());
}

std::vector<float> result_of(const Request& request) {
    const auto values = request.get<float>("y");
    return {values.begin(), values.end()};
}

// By number of the request, one after the other.
std::vector<std::vector<float>> expected_results(const CompiledGraph& compiled, int count) {
    std::vector<std::vector<float>> expected;
    Request request = *compiled.make_request();
    for (int i = 0; i < count; ++i) {
        bind(request, uint64_t(i));
        EXPECT_TRUE(request.run().ok());
        expected.push_back(result_of(request));
    }
    return expected;
}

void expect_results_in_order(const CompiledGraph& compiled) {
    constexpr int kRequests = 25;
    const std::vector<std::vector<float>> expected = expected_results(compiled, kRequests);
    RequestQueue queue = *RequestQueue::make(compiled);
    EXPECT_EQ(queue.depth(), 3);
    int submitted = 0;
    for (int taken = 0; taken < kRequests; ++taken) {
        for (; submitted < kRequests && !queue.is_full(); ++submitted) {
            bind(queue.next(), uint64_t(submitted));
            const Status status = queue.submit();
            ASSERT_TRUE(status.ok()) << status.message();
        }
        const Result<Request*> request = queue.take();
        ASSERT_TRUE(request.ok()) << request.error().message();
        EXPECT_EQ(result_of(**request), expected[size_t(taken)]) << taken;
    }
    EXPECT_TRUE(queue.is_empty());
}

TEST(RequestQueue, GivesResultsInOrderOnTheHost) {
    for (const int threads : {1, 3}) {
        expect_results_in_order(*compiled_sum(Runtime(sim_options(threads))));
    }
}

TEST(RequestQueue, GivesResultsInOrderWithADevice) {
    for (const int threads : {1, 2, 3}) {
        const Runtime runtime(sim_options(threads));
        expect_results_in_order(*compiled_sum(runtime, "sim"));
    }
}

TEST(RequestQueue, GivesResultsInOrderInVirtualTime) {
    for (const int threads : {1, 2}) {
        const Runtime runtime = clocked_runtime(sim_options(threads, {{"mode", "virtual"}}));
        expect_results_in_order(*compiled_sum(runtime, "sim"));
    }
}

// On devices of 80,000 bytes, where one request takes 32 KiB: two have room, three do not.
TEST(RequestQueue, HasMemoryForAllRequestsOrIsRefused) {
    for (const PlacementPolicy policy : {PlacementPolicy::kListOrder, PlacementPolicy::kCost}) {
        const Runtime runtime(sim_options(2, {{"memory_limit_bytes", "80000"}}));
        Graph graph("tanh");
        const ValueId a = graph.input("a", DType::kFloat32, {64, 64});
        graph.output("y", graph.add("Tanh", {a}, {}, "tanh"));
        CompileOptions options;
        options.placement_policy = policy;
        options.fallback = Fallback::kForbid;
        options.devices = "sim";
        options.requests_in_flight = 2;
        const auto two = runtime.compile(graph, options);
        ASSERT_TRUE(two.ok()) << two.error().message();
        RequestQueue queue = *RequestQueue::make(*two);
        for (int i = 0; i < queue.depth(); ++i) {
            ASSERT_TRUE(queue.next().bind("a", random_tensor({64, 64}, 1)).ok());
            ASSERT_TRUE(queue.submit().ok());
        }
        EXPECT_TRUE(queue.take().ok());
        EXPECT_TRUE(queue.take().ok());
        options.requests_in_flight = 3;
        const auto three = runtime.compile(graph, options);
        ASSERT_FALSE(three.ok());
        EXPECT_EQ(three.error().code(), StatusCode::kOutOfMemory);
        EXPECT_THAT(std::string(three.error().found()), ::testing::HasSubstr("3 requests"));
    }
}

TEST(RequestQueue, HasToFitTheMemoryLimit) {
    const Runtime runtime(sim_options(1));
    Graph graph("tanh");
    graph.output("y", graph.add("Tanh", {graph.input("a", DType::kFloat32, {64, 64})}));
    CompileOptions options;
    options.memory_limit_bytes = 1 << 20;
    options.requests_in_flight = 3;
    const auto compiled = runtime.compile(graph, options);
    ASSERT_FALSE(compiled.ok());
    EXPECT_EQ(compiled.error().code(), StatusCode::kInvalidArgument);
    EXPECT_THAT(std::string(compiled.error().message()), ::testing::HasSubstr("max_requests"));
    options.max_requests = 3;
    EXPECT_TRUE(runtime.compile(graph, options).ok());
}

// The second of three is late before it begins.
template <class Queue>
void expect_error_of_one(const Runtime& runtime) {
    const CompiledGraph compiled = *compiled_sum(runtime, "sim");
    const std::vector<std::vector<float>> expected = expected_results(compiled, 3);
    Queue queue = *Queue::make(compiled, {.depth = 3});
    for (int round = 0; round < 3; ++round) {
        for (int i = 0; i < 3; ++i) {
            bind(queue.next(), uint64_t(i));
            RunOptions options;
            if (i == 1) {
                options.deadline = std::chrono::nanoseconds(0);
            }
            ASSERT_TRUE(queue.submit(options).ok());
        }
        const Result<Request*> first = queue.take();
        ASSERT_TRUE(first.ok()) << first.error().message();
        EXPECT_EQ(result_of(**first), expected[0]);
        EXPECT_EQ(queue.take().error().code(), StatusCode::kTimeout);
        const Result<Request*> third = queue.take();
        ASSERT_TRUE(third.ok()) << third.error().message();
        EXPECT_EQ(result_of(**third), expected[2]);
    }
}

TEST(RequestQueue, LeavesTheOthersWhenOneFails) {
    for (const int threads : {1, 3}) {
        expect_error_of_one<RequestQueue>(Runtime(sim_options(threads, {{"delay_us", "500"}})));
        const Runtime clocked = clocked_runtime(sim_options(threads, {{"mode", "virtual"}}));
        expect_error_of_one<VirtualQueue>(clocked);
    }
}

// A submission that fails: number 3 is the execution of the second request or a copy of its.
TEST(RequestQueue, LeavesTheOthersWhenADeviceFailsOne) {
    const Runtime runtime(sim_options(2, {{"fail_submission", "3"}}));
    const CompiledGraph compiled = *compiled_sum(runtime, "sim");
    RequestQueue queue = *RequestQueue::make(compiled);
    int failed = 0;
    for (int i = 0; i < 3; ++i) {
        bind(queue.next(), uint64_t(i));
        ASSERT_TRUE(queue.submit().ok());
    }
    while (!queue.is_empty()) {
        failed += queue.take().ok() ? 0 : 1;
    }
    EXPECT_EQ(failed, 1);
    bind(queue.next(), 0);
    ASSERT_TRUE(queue.submit().ok());
    EXPECT_TRUE(queue.take().ok());
}

template <class Queue>
void expect_end_in_flight(const Runtime& runtime) {
    {
        const CompiledGraph compiled = *compiled_sum(runtime, "sim");
        Queue queue = *Queue::make(compiled, {});
        for (int i = 0; i < 3; ++i) {
            bind(queue.next(), uint64_t(i));
            ASSERT_TRUE(queue.submit().ok());
        }
        EXPECT_EQ(queue.in_flight(), 3);
    }
    // Nothing of the backend is left.
    const Status status = runtime.unload_backend("sim");
    EXPECT_TRUE(status.ok()) << status.message();
}

TEST(RequestQueue, EndsWithRequestsInFlight) {
    expect_end_in_flight<RequestQueue>(Runtime(sim_options(2, {{"delay_us", "20000"}})));
    const Runtime clocked = clocked_runtime(sim_options(2, {{"mode", "virtual"}}));
    expect_end_in_flight<VirtualQueue>(clocked);
}

// The caller's hold of virtual time is that of a request which has other instances by then.
TEST(RequestQueue, HoldsTimeAlsoWhenThePlanOfTheHoldIsGone) {
    const Runtime runtime = clocked_runtime(sim_options(2, {{"mode", "virtual"}}));
    Graph graph("tanh");
    graph.output("y", graph.add("Tanh", {graph.input("a", DType::kFloat32, {"n", 3})}, {}, "tanh"));
    CompileOptions options;
    options.devices = "sim,reference";
    options.plan_cache_bytes = 1;
    const CompiledGraph compiled = *runtime.compile(graph, options);
    {
        VirtualQueue queue = *VirtualQueue::make(compiled, {.depth = 2});
        for (int i = 0; i < queue.depth(); ++i) {
            ASSERT_TRUE(queue.next().bind("a", random_tensor({2, 3}, 1)).ok());
            ASSERT_TRUE(queue.submit().ok());
        }
        ASSERT_TRUE(queue.take().ok());
        for (int64_t n = 3; n < 40; ++n) {
            const Status status = queue.next().prepare({{"a", {n, 3}}});
            ASSERT_TRUE(status.ok()) << status.message();
        }
        EXPECT_EQ(queue.in_flight(), 1);
    }
    // Time goes on: nobody holds it.
    Request request = *compiled.make_request();
    ASSERT_TRUE(request.bind("a", random_tensor({2, 3}, 1)).ok());
    const Status status = request.run({.deadline = std::chrono::seconds(60)});
    EXPECT_TRUE(status.ok()) << status.message();
}

TEST(RequestQueue, RefusesWhatItsStateForbids) {
    const Runtime runtime(sim_options(1, {{"delay_us", "1000"}}));
    const CompiledGraph compiled = *compiled_sum(runtime, "sim");
    EXPECT_EQ(RequestQueue::make(compiled, {.depth = -1}).error().code(),
              StatusCode::kInvalidArgument);
    RequestQueue queue = *RequestQueue::make(compiled, {.depth = 2});
    EXPECT_EQ(queue.take().error().code(), StatusCode::kNotFound);
    EXPECT_EQ(queue.submit().code(), StatusCode::kInvalidArgument) << "nothing is bound";
    EXPECT_TRUE(queue.is_empty());
    for (int i = 0; i < 2; ++i) {
        bind(queue.next(), uint64_t(i));
        ASSERT_TRUE(queue.submit().ok());
    }
    EXPECT_EQ(queue.submit().code(), StatusCode::kBusy);
    Request& oldest = queue.next();
    EXPECT_EQ(oldest.bind("a", random_tensor({64, 64}, 9)).code(), StatusCode::kBusy);
    EXPECT_EQ(oldest.run().code(), StatusCode::kBusy);
    EXPECT_EQ(oldest.prepare({}).code(), StatusCode::kBusy);
    EXPECT_EQ(oldest.profile().error().code(), StatusCode::kBusy);
    EXPECT_TRUE(queue.take().ok());
    EXPECT_TRUE(queue.take().ok());
}

TEST(RequestQueue, NeedsAPositiveNumberInFlight) {
    const Runtime runtime(sim_options(1));
    Graph graph("tanh");
    graph.output("y", graph.add("Tanh", {graph.input("a", DType::kFloat32, {4})}));
    CompileOptions options;
    for (const int wrong : {0, CompileOptions::kMostInFlight + 1}) {
        options.requests_in_flight = wrong;
        EXPECT_EQ(runtime.compile(graph, options).error().code(), StatusCode::kInvalidArgument);
    }
}

}  // namespace
}  // namespace leat
