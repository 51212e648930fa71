// Compiled graphs with custom operators, on the host and on a device, saved and loaded.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "scale_on_sim.h"
#include "support/device_runs.h"
#include "support/saved_graphs.h"
#include "support/scratch_folder.h"

namespace leat {
namespace {

using ::testing::HasSubstr;
using testing::operator_with;
using testing::scale_operator;
using testing::sim_kernel;
using testing_support::NamedTensors;
using testing_support::output_bytes;
using testing_support::sim_options;

Runtime runtime_with(CustomOperator custom) {
    Runtime runtime(sim_options(1));
    const Status status = runtime.register_operator(std::move(custom));
    EXPECT_TRUE(status.ok()) << status.message();
    return runtime;
}

// x[3] --> Relu --> acme.Scale --> Neg --> y
Graph chain(Attributes attributes = {}) {
    Graph graph("chain");
    const ValueId x = graph.input("x", DType::kFloat32, {3});
    const ValueId t = graph.add("acme.Scale", {graph.add("Relu", {x})}, std::move(attributes), "s");
    graph.output("y", graph.add("Neg", {t}));
    return graph;
}

const NamedTensors kInputs = {{"x", *Tensor::from<float>({3}, std::vector<float>{1, -2, 3})}};

std::string y_of(const std::vector<float>& elements) {
    return "3:" + std::string(reinterpret_cast<const char*>(elements.data()),
                              elements.size() * sizeof(float));
}

class SavedOperators : public ::testing::Test {
  protected:
    void save(const Runtime& runtime, const Graph& graph, const std::string& devices) {
        CompileOptions options;
        options.devices = devices;
        const auto compiled = runtime.compile(graph, options);
        ASSERT_TRUE(compiled.ok()) << compiled.error().message();
        const Status saved = compiled->save(file_);
        ASSERT_TRUE(saved.ok()) << saved.message();
    }
    void expect_y(const Runtime& runtime, const std::vector<float>& wanted) {
        const auto loaded = runtime.load(file_);
        ASSERT_TRUE(loaded.ok()) << loaded.error().message();
        const auto found = output_bytes(*loaded, kInputs);
        ASSERT_TRUE(found.ok()) << found.error().message();
        EXPECT_EQ(found->at("y"), y_of(wanted));
    }

    ScratchFolder folder_;
    const std::filesystem::path file_ = folder_.path() / "graph.leat";
};

TEST_F(SavedOperators, RunTheKernelOfTheLoadingRuntime) {
    save(runtime_with(scale_operator()), chain(), "cpu");
    CustomOperator other = scale_operator();
    other.kernels["cpu"] = {.run = [](const KernelCall& call) {
        const auto x = call.inputs[0].elements<float>();
        const auto y = call.outputs[0].mutable_elements<float>();
        std::transform(x.begin(), x.end(), y.begin(), [](float e) { return e + 100; });
        return Status();
    }};
    expect_y(runtime_with(scale_operator()), {-2, -0.0F, -6});
    expect_y(runtime_with(std::move(other)), {-101, -100, -103});
}

TEST_F(SavedOperators, KeepTheirAttributes) {
    save(runtime_with(scale_operator()), chain({{"factor", 5.0F}}), "cpu");
    expect_y(runtime_with(scale_operator()), {-5, -0.0F, -15});
}

TEST_F(SavedOperators, RunOnTheDevice) {
    save(runtime_with(operator_with(sim_kernel())), chain(), "sim");
    expect_y(runtime_with(operator_with(sim_kernel())), {-6, -0.0F, -18});
}

TEST_F(SavedOperators, RunOnTheHostBetweenPartsOnTheDevice) {
    save(runtime_with(scale_operator()), chain(), "sim,cpu");
    expect_y(runtime_with(scale_operator()), {-2, -0.0F, -6});
}

TEST_F(SavedOperators, AreRefusedByARuntimeWithoutThem) {
    save(runtime_with(scale_operator()), chain(), "cpu");
    const auto loaded = Runtime(sim_options(1)).load(file_);
    ASSERT_FALSE(loaded.ok());
    EXPECT_THAT(loaded.error().message(), HasSubstr("acme.Scale"));
}

// The device's part was compiled with it, and has no other.
TEST_F(SavedOperators, AreRefusedByARuntimeWithoutTheKernelForTheDevice) {
    save(runtime_with(operator_with(sim_kernel())), chain(), "sim");
    const auto loaded = runtime_with(scale_operator()).load(file_);
    ASSERT_FALSE(loaded.ok());
    EXPECT_THAT(loaded.error().message(), HasSubstr("Scale"));
}

}  // namespace
}  // namespace leat
