// NumaOptions and the placement report, on whatever machine this is.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <span>
#include <string>
#include <vector>

#ifdef LEAT_HAVE_HWLOC
#include <hwloc.h>
#endif

#include "leat/leat.h"

namespace leat {
namespace {

using ::testing::ElementsAre;

// x -> MatMul(w) -> Relu -> MatMul(w) -> y
Graph chain_graph() {
    Graph graph("chain");
    const std::vector<float> values(size_t{64} * 64, 0.25F);
    const ValueId x = graph.input("x", DType::kFloat32, {64, 64});
    const ValueId w = graph.constant("w", *Tensor::from<float>({64, 64}, values));
    const ValueId hidden = graph.add("Relu", {graph.add("MatMul", {x, w})});
    graph.output("y", graph.add("MatMul", {hidden, w}));
    return graph;
}

const std::vector<float>& ones() {
    static const std::vector<float> kOnes(size_t{64} * 64, 1.0F);
    return kOnes;
}

std::vector<float> run(Request& request) {
    EXPECT_TRUE(request.bind("x", std::span<const float>(ones())).ok());
    const Status status = request.run();
    EXPECT_TRUE(status.ok()) << status.message();
    const std::span<const float> y = request.get<float>("y");
    return {y.begin(), y.end()};
}

const PagePlacement* find(const PlacementReport& report, const std::string& memory) {
    for (const PagePlacement& part : report.memory) {
        if (part.memory == memory) {
            return &part;
        }
    }
    return nullptr;
}

TEST(PlacementReport, FindsAllActivationsBeforeTheFirstRun) {
    const Runtime runtime;
    const CompiledGraph compiled = *runtime.compile(chain_graph());
    Request request = *compiled.make_request();
    for (int i = 0; i < 2; ++i) {
        const PlacementReport report = request.placement_report();
        const PagePlacement* activations = find(report, "activations");
        ASSERT_NE(activations, nullptr);
        if (activations->source == "none") {
            GTEST_SKIP() << "the kernel does not tell where pages are";
        }
        EXPECT_GT(activations->wanted_pages, 0);
        EXPECT_EQ(activations->absent_pages, 0);
        EXPECT_EQ(activations->there_pages + activations->elsewhere_pages,
                  activations->wanted_pages);
        EXPECT_TRUE(activations->is_confirmed);
        (void)run(request);
    }
}

TEST(Request, ComesBackFromATrim) {
    const Runtime runtime;
    const CompiledGraph compiled = *runtime.compile(chain_graph());
    Request request = *compiled.make_request();
    const std::vector<float> before = run(request);
    request.trim();
    EXPECT_TRUE(request.get<float>("y").empty());
    const PlacementReport report = request.placement_report();
    if (const PagePlacement* part = find(report, "activations"); part->source != "none") {
        EXPECT_EQ(part->absent_pages, part->wanted_pages);
    }
    EXPECT_EQ(run(request), before);
}

TEST(NumaOptions, DoNotChangeResults) {
    std::vector<std::vector<float>> results;
    for (const bool is_on : {true, false}) {
        RuntimeOptions options;
        options.numa.is_on = is_on;
        const Runtime runtime(options);
        EXPECT_TRUE(is_on || runtime.host().memory_nodes.empty());
        const CompiledGraph compiled = *runtime.compile(chain_graph());
        Request request = *compiled.make_request();
        results.push_back(run(request));
    }
    EXPECT_EQ(results[0], results[1]);
}

TEST(NumaOptions, StrictLimitFailsBeforeARequestTakesMemory) {
    RuntimeOptions options;
    options.threads = 2;
    options.numa.is_strict = true;
    options.numa.node_limit_bytes = 8192;
    const Runtime runtime(options);
    if (runtime.host().memory_nodes.empty()) {
        GTEST_SKIP() << "no memory node is known";
    }
    EXPECT_EQ(runtime.host().memory_nodes[0].budget_bytes, 8192);
    const Result<CompiledGraph> compiled = runtime.compile(chain_graph());
    const Status status = compiled.ok() ? compiled->make_request().error() : compiled.error();
    EXPECT_EQ(status.code(), StatusCode::kOutOfMemory) << status.message();
}

TEST(HostInfo, HasABudgetForEveryNode) {
    RuntimeOptions options;
    options.threads = 2;
    const Runtime runtime(options);
    for (const MemoryNodeInfo& node : runtime.host().memory_nodes) {
        EXPECT_GT(node.budget_bytes, 0);
        EXPECT_FALSE(node.budget_reason.empty());
    }
}

#ifdef LEAT_HAVE_HWLOC
// A description of another machine: no page is placed by it, and one line says so.
TEST(NumaOptions, TakeTheHostsTopology) {
    hwloc_topology_t given = nullptr;
    ASSERT_EQ(hwloc_topology_init(&given), 0);
    ASSERT_EQ(hwloc_topology_set_synthetic(given, "pack:2 [numa] core:1 pu:1"), 0);
    ASSERT_EQ(hwloc_topology_load(given), 0);
    std::vector<std::string> lines;
    RuntimeOptions options;
    options.threads = 2;
    options.numa.hwloc_topology = given;
    options.logger = [&](LogLevel level, std::string_view text) {
        if (level >= LogLevel::kWarning) {
            lines.emplace_back(text);
        }
    };
    const Runtime runtime(options);
    hwloc_topology_destroy(given);
    lines.erase(std::remove_if(lines.begin(), lines.end(),
                               [](const std::string& line) {
                                   return line.find("available CPUs") != std::string::npos;
                               }),
                lines.end());
    EXPECT_THAT(lines, ElementsAre(::testing::HasSubstr("another machine")));
    EXPECT_THAT(runtime.host().memory_nodes, ::testing::IsEmpty());
}
#endif

}  // namespace
}  // namespace leat
