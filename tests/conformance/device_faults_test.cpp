// Faults of a device while several requests are in flight: at every submission in turn, transfers
// and executions, the device is lost, the submission fails, or the call does.
//
// The request that it strikes ends with an error and the others end too; after a loss, the rest of
// the devices give the right results, and after anything else the device does; nothing of the
// backend is left behind.
//
// device_faults NETWORK... : also folders under $LEAT_TEST_DATA/models ("real/mnist").
#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "placement_check.h"
#include "placement_draw.h"
#include "support/random_tensor.h"

namespace leat::placements {
namespace {

using testing_support::random_tensor;

using ::testing::HasSubstr;

std::vector<std::string> folders;

constexpr const char* kDevices = "cpu,sim,reference";
constexpr int kRequests = 3;

//  x --> Conv --> Relu --> Conv --> Add --> MaxPool --> Flatten --> MatMul --> Softmax --> y
//                   \---------------^
Network residual_network() {
    Network network{"residual", Graph("residual"), {DataSet{}}, {1e-3, 1e-5}};
    Graph& graph = network.graph;
    const ValueId x = graph.input("x", DType::kFloat32, {1, 4, 12, 12});
    const Attributes padded = {{"pads", std::vector<int64_t>{1, 1, 1, 1}}};
    const auto filter = [&](const char* name, uint64_t seed) {
        return graph.constant(name, random_tensor({4, 4, 3, 3}, seed));
    };
    const ValueId first = graph.add("Conv", {x, filter("w1", 1)}, padded, "conv1");
    const ValueId relu = graph.add("Relu", {first}, {}, "relu");
    const ValueId second = graph.add("Conv", {relu, filter("w2", 2)}, padded, "conv2");
    const ValueId sum = graph.add("Add", {second, relu}, {}, "add");
    const ValueId pooled = graph.add(
        "MaxPool", {sum},
        {{"kernel_shape", std::vector<int64_t>{2, 2}}, {"strides", std::vector<int64_t>{2, 2}}},
        "pool");
    const ValueId flat = graph.add("Flatten", {pooled}, {}, "flatten");
    const ValueId matrix = graph.constant("w3", random_tensor({144, 10}, 3));
    const ValueId logits = graph.add("MatMul", {flat, matrix}, {}, "fc");
    graph.output("y", graph.add("Softmax", {logits}, {}, "softmax"));
    network.data_sets[0].inputs.push_back({"x", random_tensor({1, 4, 12, 12}, 4)});
    return network;
}

std::vector<Network> networks() {
    std::vector<Network> all;
    all.push_back(residual_network());
    const char* root = std::getenv("LEAT_TEST_DATA");
    if (root == nullptr && !folders.empty()) {
        std::cout << "LEAT_TEST_DATA is not set: " << folders.size() << " networks skipped\n";
        return all;
    }
    for (const std::string& folder : folders) {
        Result<Network> network =
            load_network(folder, std::filesystem::path(root) / "models" / folder);
        EXPECT_TRUE(network.ok()) << network.error().message();
        if (network.ok()) {
            all.push_back(*std::move(network));
        }
    }
    return all;
}

// What goes wrong at a number; `value` is before it.
struct Fault {
    const char* setting;
    const char* value;
    const char* text;  // of the error
    bool is_lasting;   // the device is gone
};

// Every transfer is a submission.
RuntimeOptions faulty_runtime(const SimSettings& settings) {
    RunSettings run;
    run.threads = 2;
    run.sim = {{"mappable", "0"}, {"delay_us", "40"}, {"delay_seed", "1"}};
    run.sim.insert(settings.begin(), settings.end());
    return runtime_options(run);
}

// Every second node is on sim, if it takes the node, and the others in turn on cpu and reference.
Pins alternating_pins(const Graph& graph, const PlacementChoices& choices) {
    constexpr std::array<const char*, 4> kTurn = {"cpu", "sim", "reference", "sim"};
    Pins pins;
    size_t next = 0;
    const std::vector<NodeData>& nodes = graph.data().nodes;
    for (size_t n = 0; n < nodes.size(); ++n) {
        for (const int taker : choices.takers[n]) {
            if (choices.devices[size_t(taker)] == kTurn[next % kTurn.size()]) {
                pins.emplace(nodes[n].name, kTurn[next % kTurn.size()]);
            }
        }
        ++next;
    }
    return pins;
}

CompileOptions placed(Pins pins) {
    CompileOptions options;
    options.devices = kDevices;
    options.fallback = Fallback::kForbid;
    options.pins = std::move(pins);
    return options;
}

// A network with its placement, and what it gives.
class FaultTest {
  public:
    explicit FaultTest(Network network)
        : network_(std::move(network)), data_(network_.data_sets[0]), runtime_(faulty_runtime({})) {
        const Result<PlacementChoices> choices = find_choices(runtime_, network_.graph, kDevices);
        EXPECT_TRUE(choices.ok()) << choices.error().message();
        options_ = placed(alternating_pins(network_.graph, *choices));
        CompileOptions serially = options_;
        serially.runs_serially = true;
        Result<Computed> expected = compute(runtime_, network_.graph, serially, data_);
        EXPECT_TRUE(expected.ok()) << expected.error().message();
        expected_.emplace(*std::move(expected));
    }

    const std::string& name() const { return network_.name; }

    // True: the fault came, in one of the runs that were in flight together.
    bool survives(const Fault& fault, int number) const {
        const Runtime runtime(
            faulty_runtime({{fault.setting, fmt::format("{}{}", fault.value, number)}}));
        const int failed = run_with(runtime, fault);
        if (failed > 0 && fault.is_lasting) {
            expect_results_without_sim(runtime);
        }
        const Status unloaded = runtime.unload_backend("sim");
        EXPECT_TRUE(unloaded.ok()) << unloaded.message();
        EXPECT_LE(failed, fault.is_lasting ? kRequests : 1);
        return failed > 0;
    }

  private:
    void expect_fault(const Status& status, const Fault& fault) const {
        EXPECT_THAT(status.message(), HasSubstr(fault.text));
        if (fault.is_lasting) {
            EXPECT_EQ(status.code(), StatusCode::kDeviceLost) << status.message();
        }
    }

    // Of the request; again where the fault comes while it is made and does not last.
    Result<Request> make_request(const CompiledGraph& compiled,
                                 const Fault& fault,
                                 int& failed) const {
        Result<Request> request = compiled.make_request();
        if (!request.ok()) {
            ++failed;
            expect_fault(request.error(), fault);
            request = compiled.make_request();
        }
        for (const NamedValue& input : data_.inputs) {
            if (request.ok()) {
                EXPECT_TRUE(request->bind(input.name, input.value).ok());
            }
        }
        return request;
    }

    // All at once. What they end with.
    static std::vector<Status> run_all(std::vector<Request>& requests) {
        std::vector<Status> ends(requests.size());
        std::vector<std::thread> threads;
        threads.reserve(requests.size());
        for (size_t i = 0; i < requests.size(); ++i) {
            threads.emplace_back([&, i] { ends[i] = requests[i].run(); });
        }
        for (std::thread& thread : threads) {
            thread.join();
        }
        return ends;
    }

    void expect_results(const Request& request) const {
        for (const ValueInfo& output : expected_->compiled.outputs()) {
            const Result<Value> got = request.output(output.name);
            ASSERT_TRUE(got.ok()) << got.error().message();
            EXPECT_TRUE(same_bits(*got, *expected_->request.output(output.name))) << output.name;
        }
    }

    // How many requests the fault has struck.
    int run_with(const Runtime& runtime, const Fault& fault) const {
        int failed = 0;
        Result<CompiledGraph> compiled = runtime.compile(network_.graph, options_);
        if (!compiled.ok()) {  // constants are copied, too
            ++failed;
            expect_fault(compiled.error(), fault);
            compiled = runtime.compile(network_.graph, options_);
        }
        std::vector<Request> requests;
        for (int i = 0; i < kRequests && compiled.ok(); ++i) {
            Result<Request> request = make_request(*compiled, fault, failed);
            if (request.ok()) {
                requests.push_back(*std::move(request));
            }
        }
        if (failed == 0 || !fault.is_lasting) {
            EXPECT_EQ(requests.size(), size_t(kRequests));
        }
        const std::vector<Status> ends = run_all(requests);
        for (size_t i = 0; i < ends.size(); ++i) {
            if (ends[i].ok()) {
                expect_results(requests[i]);
            } else {
                ++failed;
                expect_fault(ends[i], fault);
            }
        }
        if (failed > 0) {
            expect_the_next_runs(requests, fault);
        }
        return failed;
    }

    void expect_the_next_runs(std::vector<Request>& requests, const Fault& fault) const {
        const std::vector<Status> ends = run_all(requests);
        for (size_t i = 0; i < ends.size(); ++i) {
            if (fault.is_lasting) {
                EXPECT_EQ(ends[i].code(), StatusCode::kDeviceLost) << ends[i].message();
            } else {
                ASSERT_TRUE(ends[i].ok()) << ends[i].message();
                expect_results(requests[i]);
            }
        }
    }

    void expect_results_without_sim(const Runtime& runtime) const {
        Pins pins = options_.pins;
        for (auto& [node, device] : pins) {
            device = device == "sim" ? "reference" : device;
        }
        CompileOptions options = placed(std::move(pins));
        options.devices = "cpu,reference";
        const Result<Computed> again = compute(runtime, network_.graph, options, data_);
        ASSERT_TRUE(again.ok()) << again.error().message();
        for (const ValueInfo& output : expected_->compiled.outputs()) {
            const Difference difference =
                compare_values(*again->request.output(output.name),
                               *expected_->request.output(output.name), network_.tolerance);
            EXPECT_TRUE(difference.matches) << output.name << ": " << difference.reason;
        }
    }

    const Network network_;
    const DataSet& data_;
    const Runtime runtime_;
    CompileOptions options_;
    std::optional<Computed> expected_;
};

// At each number until no run is struck any more: by then each submission of the runs that are in
// flight together has been.
void expect_survival(const Fault& fault) {
    constexpr int kMostSubmissions = 10'000;
    for (Network& network : networks()) {
        const FaultTest test(std::move(network));
        int number = 1;
        while (number < kMostSubmissions && !::testing::Test::HasFailure()) {
            SCOPED_TRACE(
                fmt::format("{}: {}={}{}", test.name(), fault.setting, fault.value, number));
            if (!test.survives(fault, number)) {
                break;
            }
            ++number;
        }
        std::cout << test.name() << ": " << fault.setting << "=" << fault.value << "1 to "
                  << number - 1 << "\n";
        // Each request goes there and back at least, on two parts.
        EXPECT_GT(number, kRequests * 2);
    }
}

TEST(DeviceFaults, TheDeviceIsLost) {
    expect_survival({"lose_device_at", "", "lost", true});
}
TEST(DeviceFaults, ASubmissionFails) {
    expect_survival({"fail_submission", "", "planned fault", false});
}
TEST(DeviceFaults, AnExecutionIsRefused) {
    expect_survival({"fail_call", "execute:", "planned fault", false});
}
TEST(DeviceFaults, ACopyIsRefused) {
    expect_survival({"fail_call", "submit_copy:", "planned fault", false});
}
TEST(DeviceFaults, ACallbackIsRefused) {
    expect_survival({"fail_call", "on_reached:", "planned fault", false});
}

}  // namespace
}  // namespace leat::placements

int main(int argc, char** argv) {
    ::testing::InitGoogleTest(&argc, argv);
    leat::placements::folders.assign(argv + 1, argv + argc);
    return RUN_ALL_TESTS();
}
