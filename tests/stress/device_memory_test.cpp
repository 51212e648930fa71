// Each allocation of any thread fails in turn while a graph runs on simulated devices: the threads
// of their queues, clocks, kernels and callbacks go on, the run says that memory ran out or gives
// right results, and the next run of the same request is right.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ostream>
#include <string>
#include <vector>

#include "leat/leat.h"
#include "support/device_runs.h"
#include "support/failing_allocations.h"

namespace leat {
namespace {

using ::testing::ElementsAre;
using testing_support::FaultOfAll;
using testing_support::Reach;
using testing_support::Settings;

struct Setting {
    const char* name;
    Settings settings;
    Reach reach;
};

std::ostream& operator<<(std::ostream& out, const Setting& setting) {
    return out << setting.name;
}

//  x[n,2] --> MatMul(w) --> Relu --> Exp --> Neg --> y     by turns on two devices
Graph chain() {
    Graph graph("chain");
    const ValueId x = graph.input("x", DType::kFloat32, {"n", 2});
    const ValueId w =
        graph.constant("w", *Tensor::from<float>({2, 2}, std::vector<float>{1, -2, 3, 4}));
    const ValueId product = graph.add("MatMul", {x, w}, {}, "product");
    const ValueId relu = graph.add("Relu", {product}, {}, "relu");
    const ValueId twice = graph.add("Add", {relu, relu}, {}, "twice");
    graph.output("y", graph.add("Neg", {twice}, {}, "neg"));
    return graph;
}

class DeviceMemory : public ::testing::TestWithParam<Setting> {};

TEST_P(DeviceMemory, RunsOutOnAnyThread) {
    const Runtime runtime(testing_support::sim_options(1, GetParam().settings));
    CompileOptions options;
    options.devices = "sim:0,sim:1,cpu";
    options.pins = {{"product", "sim:0"}, {"relu", "sim:1"}, {"twice", "sim:0"}, {"neg", "sim:1"}};
    const auto compiled = runtime.compile(chain(), options);
    ASSERT_TRUE(compiled.ok()) << compiled.error().message();
    Request request = *compiled->make_request();
    const std::vector<float> x = {1, 1, 2, 0};
    ASSERT_TRUE(request.bind("x", Shape{2, 2}, std::span<const float>(x)).ok());
    const auto expect_results = [&request] {
        EXPECT_THAT(request.get<float>("y"), ElementsAre(-8, -4, -4, 0));
    };
    ASSERT_TRUE(request.run().ok());
    expect_results();
    int64_t failures = 0;
    for (bool has_struck = true; has_struck && !HasFailure();) {
        SCOPED_TRACE("allocation " + std::to_string(failures + 1));
        Status status;
        {
            const FaultOfAll fault(GetParam().reach, failures + 1);
            status = request.run();
            has_struck = FaultOfAll::has_struck();
        }
        if (status.ok()) {
            expect_results();
        } else {
            EXPECT_TRUE(has_struck);
            EXPECT_EQ(status.code(), StatusCode::kOutOfMemory) << status.message();
        }
        failures += has_struck ? 1 : 0;
        const Status again = request.run();
        ASSERT_TRUE(again.ok()) << again.message();
        expect_results();
    }
    EXPECT_GE(failures, 10);
    RecordProperty("failures", std::to_string(failures));
}

const Settings kAtOnce = {{"devices", "2"}};
const Settings kVirtual = {{"devices", "2"}, {"mode", "virtual"}, {"flops_per_s", "1e9"}};

INSTANTIATE_TEST_SUITE_P(Sim,
                         DeviceMemory,
                         ::testing::Values(Setting{"Compute", kAtOnce, Reach::kOne},
                                           Setting{"ComputeAllFrom", kAtOnce, Reach::kAllFrom},
                                           Setting{"Virtual", kVirtual, Reach::kOne},
                                           Setting{"VirtualAllFrom", kVirtual, Reach::kAllFrom}),
                         [](const auto& setting) { return std::string(setting.param.name); });

}  // namespace
}  // namespace leat
