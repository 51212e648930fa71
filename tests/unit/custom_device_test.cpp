// Custom operators on a device of a plugin, the simulated one: offered with a kernel for it, else
// on the host.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>

#include "backends/host_device/kernel_blob.h"
#include "custom_operators.h"
#include "leat/leat.h"

namespace leat {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// x times "factor" and 3, so that results tell which kernel ran.
LeatCode run_thrice(const LeatNodeView* node,
                    int32_t /*input_count*/,
                    const LeatTensorView* const* inputs,
                    int32_t /*output_count*/,
                    LeatTensorView* const* outputs) {
    const auto* x = static_cast<const float*>(inputs[0]->data);
    auto* y = static_cast<float*>(outputs[0]->data);
    if (node->attribute_count != 1 || std::strcmp(node->attributes[0]->name, "factor") != 0) {
        return kLeatInvalidArgument;
    }
    const float factor = 3 * node->attributes[0]->floats[0];
    for (size_t i = 0; i < size_t(inputs[0]->bytes) / sizeof(float); ++i) {
        y[i] = factor * x[i];
    }
    return kLeatOk;
}

std::string sim_kernel() {
    host_device::KernelBlob blob{};
    std::memcpy(blob.magic, host_device::kKernelMagic, sizeof(blob.magic));
    blob.run = run_thrice;
    return {reinterpret_cast<const char*>(&blob), sizeof(blob)};
}

CustomOperator operator_with(std::string kernel) {
    CustomOperator scale = testing::scale_operator();
    if (!kernel.empty()) {
        scale.device_kernels["sim"] = std::move(kernel);
    }
    return scale;
}

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
