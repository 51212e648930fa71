// The same bits with any number of threads, and that number of threads really runs.
#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "leat/leat.h"
#include "zoo/zoo.h"

namespace leat {
namespace {

constexpr int kMaxRuns = 200;  // helpers that the system starts late may miss some runs

struct Outcome {
    std::vector<std::byte> bytes;  // of every output
    int threads_used = 0;
};

Outcome run_with_threads(const Graph& graph, const InputShapes& shapes, int threads) {
    RuntimeOptions options;
    options.threads = threads;
    const Runtime runtime(options);
    EXPECT_EQ(runtime.host().threads, threads);
    const CompiledGraph compiled = *runtime.compile(graph);
    Request request = *compiled.make_request();
    for (const ValueInfo& info : compiled.inputs()) {
        Tensor tensor = *Tensor::allocate(info.dtype, shapes.at(info.name));
        if (info.dtype == DType::kFloat32) {
            float x = 0;
            for (float& element : tensor.mutable_data<float>()) {
                element = x;
                x = x > 1 ? -1 : x + 0.0625F;
            }
        }
        EXPECT_TRUE(request.bind(info.name, tensor).ok());
    }
    Outcome outcome;
    for (int run = 0; run < kMaxRuns && outcome.threads_used < threads; ++run) {
        const Status status = request.run();
        EXPECT_TRUE(status.ok()) << status.message();
        outcome.threads_used = std::max(outcome.threads_used, request.threads_used());
    }
    for (const ValueInfo& info : compiled.outputs()) {
        const Tensor tensor = request.output(info.name)->tensor();
        outcome.bytes.insert(outcome.bytes.end(), tensor.bytes(),
                             tensor.bytes() + tensor.byte_count());
    }
    return outcome;
}

void expect_same_bits(const char* network, const InputShapes& shapes) {
    const Graph graph = *zoo::make_network(network);
    const Outcome one = run_with_threads(graph, shapes, 1);
    ASSERT_FALSE(one.bytes.empty());
    for (int threads : {2, 3, 4}) {
        const Outcome many = run_with_threads(graph, shapes, threads);
        EXPECT_EQ(many.threads_used, threads) << network;
        EXPECT_TRUE(many.bytes == one.bytes)
            << network << " differs with " << threads << " threads";
    }
}

TEST(Threads, SameBitsForConvolutions) {
    expect_same_bits("squeezenet1_1?size=96", {{"input", {1, 3, 96, 96}}});
}

TEST(Threads, SameBitsForDepthwiseConvolutions) {
    expect_same_bits("mobilenet_v2?size=96", {{"input", {1, 3, 96, 96}}});
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
