// Custom operators on a device of a plugin, the simulated one: offered with a kernel for it, else
// on the host.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "leat/leat.h"
#include "scale_on_sim.h"

namespace leat {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::operator_with;
using testing::sim_kernel;
using ::testing::SizeIs;

Runtime runtime_with(CustomOperator custom) {
    RuntimeOptions options;
    const char* folder = std::getenv("LEAT_BUILT_BACKENDS");
    options.backend_path = folder == nullptr ? "." : folder;
    options.threads = 1;
    Runtime runtime(options);
    const Status status = runtime.register_operator(std::move(custom));
    EXPECT_TRUE(status.ok()) << status.message();
    return runtime;
}

CompileOptions on_sim(Fallback fallback = Fallback::kAllow) {
    CompileOptions options;
    options.devices = "sim,cpu";
    options.fallback = fallback;
    return options;
}

// x[n] --> Relu --> acme.Scale --> Relu --> y
Graph chain(Attributes attributes = {}) {
    Graph graph("chain");
    const ValueId x = graph.input("x", DType::kFloat32, {"n"});
    const ValueId t = graph.add("acme.Scale", {graph.add("Relu", {x})}, std::move(attributes), "s");
    graph.output("y", graph.add("Relu", {t}));
    return graph;
}

std::vector<float> run(const CompiledGraph& compiled, const std::vector<float>& x) {
    Request request = *compiled.make_request();
    const std::span<const float> elements(x);
    EXPECT_TRUE(request.bind("x", Shape{int64_t(x.size())}, elements).ok());
    const Status status = request.run();
    EXPECT_TRUE(status.ok()) << status.message();
    const std::span<const float> y = request.get<float>("y");
    return {y.begin(), y.end()};
}

TEST(CustomOnDevice, RunsTheKernelThatWasGivenForIt) {
    const Runtime runtime = runtime_with(operator_with(sim_kernel()));
    const auto compiled = runtime.compile(chain(), on_sim(Fallback::kForbid));
    ASSERT_TRUE(compiled.ok()) << compiled.error().message();
    EXPECT_THAT(compiled->report().fallbacks, IsEmpty());
    EXPECT_EQ(compiled->report().nodes_per_backend.at("sim"), 3);
    EXPECT_THAT(run(*compiled, {1, -1}), ElementsAre(6, 0));
    EXPECT_THAT(run(*compiled, {1, 2, 3}), ElementsAre(6, 12, 18));
    // A second graph finds it registered.
    EXPECT_TRUE(runtime.compile(chain(), on_sim(Fallback::kForbid)).ok());
}

TEST(CustomOnDevice, StaysOnTheHostWithoutAKernel) {
    const Runtime runtime = runtime_with(operator_with(""));
    for (const PlacementPolicy policy : {PlacementPolicy::kListOrder, PlacementPolicy::kCost}) {
        CompileOptions options = on_sim(Fallback::kForbid);
        options.placement_policy = policy;
        const auto forbidden = runtime.compile(chain(), options);
        ASSERT_FALSE(forbidden.ok());
        EXPECT_EQ(forbidden.error().code(), StatusCode::kUnsupported);
        EXPECT_THAT(forbidden.error().message(), HasSubstr("1 of 3 nodes cannot run on 'sim'"));
    }
    const auto compiled = runtime.compile(chain(), on_sim());
    ASSERT_TRUE(compiled.ok()) << compiled.error().message();
    ASSERT_THAT(compiled->report().fallbacks, SizeIs(1));
    EXPECT_THAT(compiled->report().fallbacks[0],
                HasSubstr("acme.Scale version 1 has no kernel for backend 'sim'"));
    EXPECT_THAT(run(*compiled, {1, -1}), ElementsAre(2, 0));
}

TEST(CustomOnDevice, StaysOnTheHostWhereTheBackendRefusesTheKernel) {
    const Runtime runtime = runtime_with(operator_with("no kernel"));
    const auto compiled = runtime.compile(chain(), on_sim());
    ASSERT_TRUE(compiled.ok()) << compiled.error().message();
    ASSERT_THAT(compiled->report().fallbacks, SizeIs(1));
    EXPECT_THAT(compiled->report().fallbacks[0], HasSubstr("a kernel of 9 bytes"));
    EXPECT_THAT(run(*compiled, {4}), ElementsAre(8));
}

TEST(CustomOnDevice, SeesAttributes) {
    const Runtime runtime = runtime_with(operator_with(sim_kernel()));
    const auto compiled = runtime.compile(chain({{"factor", 5.0F}}), on_sim(Fallback::kForbid));
    ASSERT_TRUE(compiled.ok()) << compiled.error().message();
    EXPECT_THAT(run(*compiled, {4}), ElementsAre(60));
}

TEST(CustomOnDevice, OfAKernelForTheDeviceAloneNeedsTheDevice) {
    CustomOperator scale = operator_with(sim_kernel());
    scale.kernels.clear();
    const Runtime runtime = runtime_with(std::move(scale));
    const auto compiled = runtime.compile(chain(), on_sim());
    ASSERT_TRUE(compiled.ok()) << compiled.error().message();
    EXPECT_THAT(run(*compiled, {2}), ElementsAre(12));
    EXPECT_THAT(runtime.compile(chain()).error().message(), HasSubstr("no kernel"));
}

}  // namespace
}  // namespace leat
