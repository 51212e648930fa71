// The same bits with any number of threads, and that number of threads really runs.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <vector>

#include "leat/leat.h"
#include "zoo/zoo.h"

namespace leat {
namespace {

// A busy machine starts helpers late, and the others have then done their share: run until all met
// in one run.
constexpr std::chrono::seconds kPatience{60};

std::vector<std::byte> output_bytes(const CompiledGraph& compiled, Request& request) {
    std::vector<std::byte> bytes;
    for (const ValueInfo& info : compiled.outputs()) {
        const Tensor tensor = request.output(info.name)->tensor();
        bytes.insert(bytes.end(), tensor.bytes(), tensor.bytes() + tensor.byte_count());
    }
    return bytes;
}

void bind_ramp(Request& request, const ValueInfo& info, const Shape& shape) {
    Tensor tensor = *Tensor::allocate(info.dtype, shape);
    if (info.dtype == DType::kFloat32) {
        float x = 0;
        for (float& element : tensor.mutable_data<float>()) {
            element = x;
            x = x > 1 ? -1 : x + 0.0625F;
        }
    } else {
        std::ranges::fill(tensor.mutable_data<int64_t>(), 1);
    }
    EXPECT_TRUE(request.bind(info.name, tensor).ok());
}

// The outputs' bytes, the same in every run; runs until `threads` threads took part in one.
std::vector<std::byte> run_with_threads(const Graph& graph,
                                        const InputShapes& shapes,
                                        int threads) {
    RuntimeOptions options;
    options.threads = threads;
    const Runtime runtime(options);
    EXPECT_EQ(runtime.host().threads, threads);
    const CompiledGraph compiled = *runtime.compile(graph);
    Request request = *compiled.make_request();
    for (const ValueInfo& info : compiled.inputs()) {
        bind_ramp(request, info, shapes.at(info.name));
    }
    std::vector<std::byte> first;
    int threads_used = 0;
    const auto end = std::chrono::steady_clock::now() + kPatience;
    while (threads_used < threads && std::chrono::steady_clock::now() < end) {
        const Status status = request.run();
        EXPECT_TRUE(status.ok()) << status.message();
        threads_used = std::max(threads_used, request.threads_used());
        std::vector<std::byte> bytes = output_bytes(compiled, request);
        if (first.empty()) {
            first = std::move(bytes);
        } else if (bytes != first) {
            ADD_FAILURE() << "two runs with " << threads << " threads differ";
            break;
        }
    }
    EXPECT_EQ(threads_used, threads);
    return first;
}

void expect_same_bits(const char* network, const InputShapes& shapes) {
    const Graph graph = *zoo::make_network(network);
    const std::vector<std::byte> one = run_with_threads(graph, shapes, 1);
    ASSERT_FALSE(one.empty());
    for (int threads : {2, 3, 4}) {
        EXPECT_TRUE(run_with_threads(graph, shapes, threads) == one)
            << network << " differs with " << threads << " threads";
    }
}

TEST(Threads, SameBitsForConvolutions) {
    expect_same_bits("squeezenet1_1", {{"input", {1, 3, 224, 224}}});
}

TEST(Threads, SameBitsForDepthwiseConvolutions) {
    expect_same_bits("mobilenet_v2", {{"input", {1, 3, 224, 224}}});
}

TEST(Threads, SameBitsForAttention) {
    expect_same_bits(
        "bert_base?layers=2,tokens=64",
        {{"input_ids", {1, 64}}, {"attention_mask", {1, 64}}, {"token_type_ids", {1, 64}}});
}

TEST(Threads, AutoNeverExceedsMaskAndQuota) {
    const Runtime runtime;
    const HostInfo& host = runtime.host();
    EXPECT_LE(host.threads, host.affinity_cpus);
    if (host.quota_cpus >= 1) {
        EXPECT_LE(host.threads, int(host.quota_cpus));
    }
}

TEST(Threads, MoreThanTheMachineHasIsOneWarning) {
    RuntimeOptions options;
    options.threads = Runtime().host().affinity_cpus + 3;
    int warnings = 0;
    options.logger = [&warnings](LogLevel level, std::string_view) {
        warnings += level == LogLevel::kWarning;
    };
    const Runtime runtime(options);
    EXPECT_EQ(runtime.host().threads, options.threads);
    EXPECT_FALSE(runtime.host().pinned);
    EXPECT_EQ(warnings, 1);
}

}  // namespace
}  // namespace leat
