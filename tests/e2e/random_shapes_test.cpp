// Runs with shapes that never settle: plans are made, cached and evicted, slabs grow, and memory
// must not. Without an argument 20,000 runs; `random_shapes 100000` runs more.
#include <gtest/gtest.h>

#include <charconv>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <string>
#include <vector>

#include "base/split_mix.h"
#include "leat/leat.h"

namespace leat {
namespace {

int64_t run_count = 20'000;

int64_t resident_bytes() {
    std::ifstream status("/proc/self/status");
    for (std::string line; std::getline(status, line);) {
        if (line.rfind("VmRSS:", 0) == 0) {
            return std::stoll(line.substr(6)) * 1024;
        }
    }
    return 0;
}

// x [batch, length] -> MatMul -> Relu -> + row sums -> y
Graph changing_graph() {
    Graph graph("changing");
    const ValueId x = graph.input("x", DType::kFloat32, {"batch", "length", 16});
    const ValueId w =
        graph.constant("w", *Tensor::from<float>({16, 16}, std::vector<float>(256, 0.25F)));
    const ValueId product = graph.add("Relu", {graph.add("MatMul", {x, w})});
    const ValueId axes = graph.constant("axes", *Tensor::from<int64_t>({1}, {2}));
    const ValueId sums = graph.add("ReduceSum", {product, axes});
    graph.output("y", graph.add("Add", {product, sums}));
    return graph;
}

TEST(RandomShapes, LeaveResidentMemoryAsItIs) {
    const Runtime runtime;
    CompileOptions options;
    options.plan_cache_bytes = 64 << 10;  // a few plans: most are evicted
    const CompiledGraph compiled = *runtime.compile(changing_graph(), options);
    Request request = *compiled.make_request();
    SplitMix random(1);
    const std::vector<float> ones(size_t(32 * 64 * 16), 1);
    int64_t settled_bytes = 0;
    for (int64_t run = 0; run < run_count; ++run) {
        const auto batch = int64_t(1 + random.next() % 32);
        const auto length = int64_t(1 + random.next() % 64);
        const auto count = size_t(batch * length * 16);
        ASSERT_TRUE(
            request.bind("x", {batch, length, 16}, std::span<const float>(ones).first(count)).ok());
        const Status status = request.run();
        ASSERT_TRUE(status.ok()) << status.message();
        const std::span<const float> y = request.get<float>("y");
        ASSERT_EQ(y.size(), count);
        ASSERT_EQ(y.back(), 4 + 16 * 4);
        if (run == run_count / 4) {
            settled_bytes = resident_bytes();
        }
    }
    // What the allocator keeps in its lists moves by a few pages.
    EXPECT_LE(resident_bytes() - settled_bytes, 256 << 10);
}

}  // namespace
}  // namespace leat

int main(int argc, char** argv) {
    ::testing::InitGoogleTest(&argc, argv);
    if (argc > 1) {
        std::from_chars(argv[1], argv[1] + std::strlen(argv[1]), leat::run_count);
    }
    return RUN_ALL_TESTS();
}
