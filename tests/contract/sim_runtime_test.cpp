// Graphs on the simulated machine through the Runtime: several devices of one clock, and a
// recording that is made and replayed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "leat/leat.h"
#include "support/scratch_folder.h"

namespace leat {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

using Settings = std::map<std::string, std::string, std::less<>>;

RuntimeOptions sim_options(Settings settings) {
    RuntimeOptions options;
    const char* folder = std::getenv("LEAT_BUILT_BACKENDS");
    options.backend_path = folder == nullptr ? "." : folder;
    options.backend_settings["sim"] = std::move(settings);
    options.threads = 2;
    return options;
}

//        /--> Relu "left"  --\.
// x --> Neg                   Add --> y
//        \--> Abs "right" ---/
Graph diamond() {
    Graph graph("diamond");
    const ValueId x = graph.input("x", DType::kFloat32, {4});
    const ValueId t = graph.add("Neg", {x}, {}, "top");
    const ValueId left = graph.add("Relu", {t}, {}, "left");
    const ValueId right = graph.add("Abs", {t}, {}, "right");
    graph.output("y", graph.add("Add", {left, right}, {}, "bottom"));
    return graph;
}

CompileOptions over(std::string devices, Settings pins) {
    CompileOptions options;
    options.devices = std::move(devices);
    options.fallback = Fallback::kForbid;
    options.pins = std::move(pins);
    return options;
}

// y of diamond(); an error's message in place of it.
std::pair<std::vector<float>, std::string> run(const Settings& settings,
                                               const CompileOptions& options,
                                               const std::vector<float>& x) {
    const Runtime runtime(sim_options(settings));
    const auto compiled = runtime.compile(diamond(), options);
    if (!compiled.ok()) {
        return {{}, compiled.error().message()};
    }
    Request request = *compiled->make_request();
    Status status = request.bind("x", std::span<const float>(x));
    status = status.ok() ? request.run() : status;
    if (!status.ok()) {
        return {{}, status.message()};
    }
    const std::span<const float> y = request.get<float>("y");
    return {{y.begin(), y.end()}, ""};
}

const Settings& pins_to_two_devices() {
    static const Settings kPins = {
        {"top", "sim:0"}, {"left", "sim:1"}, {"right", "sim:0"}, {"bottom", "sim:1"}};
    return kPins;
}

TEST(SimRuntime, RunsPartsOnSeveralDevicesInEachMode) {
    const ScratchFolder folder;
    const std::string runs = (folder.path() / "runs").string();
    const CompileOptions options = over("sim:0,sim:1", pins_to_two_devices());
    const Settings machine = {{"devices", "2"}, {"flops_per_s", "1e9,3e9"}};
    Settings recording = machine;
    recording["record"] = runs;
    Settings clocked = machine;
    clocked["mode"] = "virtual";
    Settings timed = machine;
    timed["mode"] = "timed";
    timed["replay"] = runs;
    for (const Settings& settings : {recording, clocked, timed}) {
        const auto [y, error] = run(settings, options, {-1, 2, -3, 4});
        EXPECT_EQ(error, "");
        EXPECT_THAT(y, ElementsAre(2, 2, 6, 4));
    }
    const auto [none, error] = run(timed, options, {-1, 2, -3, 5});
    EXPECT_THAT(error, HasSubstr("these inputs were not recorded"));
    EXPECT_THAT(error, HasSubstr(runs));
}

TEST(SimRuntime, EndsWithAnErrorWhereverItsDeviceIsLost) {
    const CompileOptions options = over("sim:0,sim:1", pins_to_two_devices());
    int lost = 0;
    for (int submission = 1; submission <= 40; ++submission) {
        const Settings settings = {
            {"mode", "virtual"}, {"devices", "2"}, {"lose_device_at", std::to_string(submission)}};
        const auto [y, error] = run(settings, options, {-1, 2, -3, 4});
        if (error.empty()) {
            EXPECT_THAT(y, ElementsAre(2, 2, 6, 4));
        } else {
            EXPECT_THAT(error, HasSubstr("lost"));
            ++lost;
        }
    }
    EXPECT_GE(lost, 4);  // four parts at least, each with a submission
}

}  // namespace
}  // namespace leat
