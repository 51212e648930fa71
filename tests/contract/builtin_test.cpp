// The built-in backends through the C ABI: several threads, packed weights, scratch memory.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <vector>

#include "backends/host_device/tile_team.h"
#include "contract/builtin_plugins.h"
#include "contract/compiled.h"
#include "contract/context.h"

namespace leat::contract {
namespace {

using Floats = std::vector<float>;

Target target_of(std::string_view backend) {
    Target target;
    target.table = find_builtin_plugin(backend);
    if (backend == "cpu") {
        target.settings = {{"threads", "4"}};
    }
    return target;
}

// Exact in f32 and in any order of additions: small whole numbers.
Floats whole_numbers(int64_t count, int64_t period) {
    Floats values;
    values.reserve(size_t(count));
    for (int64_t i = 0; i < count; ++i) {
        values.push_back(float(i % period) - 3.0F);
    }
    return values;
}

LeatBinding bind(Context& context, const Floats& values) {
    const auto bytes = int64_t(values.size() * sizeof(float));
    LeatSlab* slab = context.slab(bytes);
    void* from = context.host_bytes(bytes);
    std::memcpy(from, values.data(), size_t(bytes));
    context.wait_ok(context.copy_in(context.compute_queue(), from, {slab, 0}, bytes));
    return {slab, 0, bytes, nullptr};
}

// The graph's only output, for its only input.
Floats run(Context& context, GraphView& graph, const Floats& x) {
    Compiled compiled(context, graph);
    compiled.pack(graph);
    compiled.link({});
    const int64_t bytes = compiled.output_bytes()[0];
    const LeatBinding y = {context.slab(bytes), 0, bytes, nullptr};
    const LeatBinding input = bind(context, x);
    for (int i = 0; i < 3; ++i) {
        context.wait_ok(compiled.execute({input}, {y}));
    }
    const std::vector<uint8_t> found = context.bytes_of({y.slab, 0}, bytes);
    Floats values(size_t(bytes) / sizeof(float));
    std::memcpy(values.data(), found.data(), found.size());
    return values;
}

//  x --> MatMul(w) --> t --> Relu --> u
void add_matmul(GraphView& graph, int64_t rows, int64_t k, int64_t columns) {
    const int32_t x = graph.input("x", kFloat32, {rows, k});
    const int32_t w = graph.constant("w", {k, columns}, whole_numbers(k * columns, 7));
    const int32_t t = graph.value("t", kFloat32, {rows, columns});
    const int32_t u = graph.value("u", kFloat32, {rows, columns});
    graph.node("MatMul", {x, w}, {t});
    graph.node("Relu", {t}, {u});
    graph.output(u);
}

TEST(BuiltinBackends, AgreeOnAMatMulOfSeveralThreads) {
    constexpr int64_t kRows = 130;
    constexpr int64_t kInner = 96;
    constexpr int64_t kColumns = 200;
    Floats results[2];
    for (const std::string_view backend : {"cpu", "reference"}) {
        const Target target = target_of(backend);
        Context context(target);
        context.start();
        GraphView graph;
        add_matmul(graph, kRows, kInner, kColumns);
        results[backend == "cpu" ? 0 : 1] = run(context, graph, whole_numbers(kRows * kInner, 5));
        context.stop();
        context.close();
    }
    ASSERT_EQ(results[0].size(), size_t(kRows * kColumns));
    EXPECT_EQ(results[0], results[1]);
}

TEST(BuiltinBackends, RunEveryTileOfALargeOperator) {
    const Target target = target_of("cpu");
    Context context(target);
    context.start();
    EXPECT_EQ(context.device().thread_count, 6);  // two queues, callbacks, three more workers
    constexpr int64_t kElements = int64_t{1} << 21;
    GraphView graph;
    const int32_t x = graph.input("x", kFloat32, {kElements});
    const int32_t y = graph.value("y", kFloat32, {kElements});
    graph.node("Relu", {x}, {y});
    graph.output(y);
    const Floats given = whole_numbers(kElements, 9);
    const Floats found = run(context, graph, given);
    int64_t wrong = 0;
    for (size_t i = 0; i < given.size(); ++i) {
        wrong += found[i] != std::max(given[i], 0.0F) ? 1 : 0;
    }
    EXPECT_EQ(wrong, 0);
    context.stop();
    context.close();
}

// Notes the furthest byte of scratch that it was given.
class ScratchKernel final : public HostKernel {
  public:
    ScratchKernel(int64_t tiles, const std::byte* begin) : begin_(begin) {
        tile_count = tiles;
        scratch_bytes = 1;
    }
    Status run(const KernelArgs& args, int64_t /*begin*/, int64_t /*end*/) const override {
        const int64_t offset = args.scratch - begin_;
        int64_t seen = furthest.load();
        while (offset > seen && !furthest.compare_exchange_weak(seen, offset)) {
        }
        return {};
    }
    mutable std::atomic<int64_t> furthest{0};

  private:
    const std::byte* begin_;
};

TEST(TileTeam, GivesNoScratchBeyondTheTilesOfAKernel) {
    constexpr int kWorkers = 4;
    constexpr int64_t kStride = 16;
    std::byte scratch[size_t(kWorkers * kStride)];
    host_device::TileTeam team(kWorkers);
    for (const int64_t tiles : {1, 2, 3, 9}) {
        const ScratchKernel kernel(tiles, scratch);
        const int shares = int(std::min<int64_t>(tiles, kWorkers));
        EXPECT_EQ(team.workers_for(kernel), shares);
        KernelArgs args;
        args.scratch = scratch;
        for (int i = 0; i < 2000; ++i) {
            ASSERT_TRUE(team.run(kernel, args, kStride).ok());
        }
        EXPECT_LT(kernel.furthest.load(), shares * kStride) << tiles << " tiles";
    }
}

TEST(BuiltinBackends, RefuseBindingsThatAreNotAligned) {
    const Target target = target_of("cpu");
    Context context(target);
    context.start();
    GraphView graph;
    const int32_t x = graph.input("x", kFloat32, {4});
    const int32_t y = graph.value("y", kFloat32, {4});
    graph.node("Relu", {x}, {y});
    graph.output(y);
    {
        Compiled compiled(context, graph);
        compiled.link({});
        const LeatBinding good = {context.slab(256), 0, 16, nullptr};
        const LeatBinding bad = {good.slab, 68, 16, nullptr};
        try {
            (void)compiled.execute({good}, {bad});
            FAIL() << "it was taken";
        } catch (const Failure& failure) {
            EXPECT_THAT(failure.reason, ::testing::HasSubstr("not aligned to 64 bytes"));
        }
    }
    context.stop();
    context.close();
}

TEST(BuiltinBackends, AreTablesThatNothingCloses) {
    EXPECT_EQ(find_builtin_plugin("vulkan"), nullptr);
    for (const Backend* backend : builtin_backends()) {
        const HostServices host;
        auto plugin = LoadedPlugin::of_table(host_backend_api(*backend), host);
        ASSERT_TRUE(plugin.ok()) << plugin.error().message();
        EXPECT_EQ((*plugin)->api().name, backend->name());
        EXPECT_TRUE((*plugin)->start({}).ok());
        EXPECT_EQ((*plugin)->device_names().size(), 1U);
        EXPECT_TRUE((*plugin)->unload().ok());
        EXPECT_TRUE((*plugin)->unload().ok());
        EXPECT_THAT((*plugin)->start({}).message(), ::testing::HasSubstr("built-in"));
    }
}

TEST(BuiltinBackends, NameASettingThatTheyDoNotTake) {
    const HostServices host;
    auto plugin = LoadedPlugin::of_table(*find_builtin_plugin("cpu"), host);
    ASSERT_TRUE(plugin.ok());
    EXPECT_THAT((*plugin)->start({{"threads", "99999"}}).message(),
                ::testing::HasSubstr("needed at most 4096"));
    EXPECT_THAT((*plugin)->start({{"delay_us", "1"}}).message(),
                ::testing::HasSubstr("no setting 'delay_us'"));
    EXPECT_TRUE((*plugin)->start({{"threads", "2"}}).ok());
}

}  // namespace
}  // namespace leat::contract
