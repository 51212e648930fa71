// Forecasts of placements by cost against runs on simulated devices that keep real time.
//
//   device_forecast PLUGIN_FOLDER SCRATCH_FOLDER [MODEL.onnx ...]
//
// 100 random graphs and the models, each placed by cost on three devices of different speeds, whose
// median operator takes 2 ms on the fastest. Results are recorded in mode `compute` with the same
// placement and replayed in mode `timed`. Of each, the median of three runs over the forecast; of
// all, the median of how far that is from 1. At last a stream of requests whose transfers take as
// long as their operator: its throughput over that of the operator alone.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "base/check.h"
#include "base/monotonic_clock.h"
#include "leat/leat.h"
#include "support/forecast_graphs.h"
#include "timed_devices.h"

namespace leat::micro {
namespace {

using testing_support::forecast_graph;

constexpr int kRandomGraphs = 100;
constexpr int kRuns = 3;

// Measured over forecast.
double ratio_of(const Folders& folders, const std::string& name, const Graph& graph) {
    const Settings settings = {{"devices", "3"},
                               {"flops_per_s", "4e8,1e9,2e9"},
                               {"bytes_per_s", "1e9,1e9,4e9"},
                               {"link_latency_us", "5,20,10"},
                               {"link_bytes_per_s", "2e9,1e9,4e9"},
                               {"median_op_us", "2000"}};
    const std::string devices = "sim:0,sim:1,sim:2";
    const TimedRuns found = timed_runs(folders, settings, graph, devices, kRuns);
    const GraphPlacement& placement = found.placement;
    const double ratio = found.median_ns / placement.forecast.makespan_ns;
    int parts = 0;
    for (const DeviceShare& share : placement.devices) {
        parts += share.part_count;
    }
    fmt::print("{:<28} {:>5} {:>12.2f} {:>12.2f} {:>8.4f}\n", name, parts,
               placement.forecast.makespan_ns * 1e-6, found.median_ns * 1e-6, ratio);
    return ratio;
}

void run_often(const CompiledGraph& compiled, int runs) {
    Request request = bound_request(compiled);
    for (int run = 0; run < runs; ++run) {
        need(request.run());
    }
}

// An operator of 20 ms whose operand takes 20 ms to move.
void time_stream(const Folders& folders) {
    constexpr int kRequests = 3;
    constexpr int kRunsEach = 16;
    constexpr double kStepNs = 20e6;
    const Graph graph = testing_support::narrow_product(256, 1024);
    const Settings settings = {{"flops_per_s", fmt::format("{}", 2.0 * 256 * 1024 * 4 / 20e-3)},
                               {"bytes_per_s", "1e12"},
                               {"link_latency_us", "0"},
                               {"link_bytes_per_s", fmt::format("{}", 256.0 * 1024 * 4 / 20e-3)}};
    std::filesystem::remove(folders.recording);
    for (const bool is_timed : {false, true}) {
        const Runtime runtime = runtime_of(folders, settings, is_timed);
        const CompiledGraph compiled = compiled_by(runtime, graph, "sim");
        if (!is_timed) {
            Request request = bound_request(compiled);
            need(request.run());
            continue;
        }
        const int64_t begin_ns = monotonic_ns();
        std::vector<std::thread> threads;
        threads.reserve(kRequests);
        for (int i = 0; i < kRequests; ++i) {
            threads.emplace_back(run_often, std::cref(compiled), kRunsEach);
        }
        for (std::thread& thread : threads) {
            thread.join();
        }
        const auto wall_ns = double(monotonic_ns() - begin_ns);
        fmt::print("stream of {} runs, {} in flight: {:.1f} ms, {:.3f} of the operator's rate\n",
                   kRequests * kRunsEach, kRequests, wall_ns * 1e-6,
                   kRequests * kRunsEach * kStepNs / wall_ns);
    }
}

void report(const std::string& name, const std::vector<double>& ratios) {
    std::vector<double> off;
    off.reserve(ratios.size());
    for (const double ratio : ratios) {
        off.push_back(std::abs(ratio - 1));
    }
    if (!off.empty()) {
        fmt::print("{}: {} graphs, |measured / forecast - 1|: median {:.4f}, most {:.4f}\n", name,
                   off.size(), median_of(off), *std::max_element(off.begin(), off.end()));
    }
}

int run(int argc, char** argv) {
    if (argc < 3) {
        fmt::print(stderr,
                   "usage: device_forecast PLUGIN_FOLDER SCRATCH_FOLDER [MODEL.onnx ...]\n");
        return 2;
    }
    const Folders folders{argv[1], std::string(argv[2]) + "/device_forecast.runs"};
    fmt::print("{:<28} {:>5} {:>12} {:>12} {:>8}\n", "graph", "parts", "forecast, ms", "run, ms",
               "ratio");
    std::vector<double> models;
    for (int i = 3; i < argc; ++i) {
        const std::filesystem::path file = argv[i];
        models.push_back(
            ratio_of(folders, file.parent_path().filename().string(), needed(load_onnx(file))));
    }
    std::vector<double> random;
    for (uint64_t seed = 1; seed <= kRandomGraphs; ++seed) {
        random.push_back(ratio_of(folders, fmt::format("random {}", seed), forecast_graph(seed)));
    }
    report("models", models);
    report("random graphs", random);
    time_stream(folders);
    std::filesystem::remove(folders.recording);
    return 0;
}

}  // namespace
}  // namespace leat::micro

int main(int argc, char** argv) {
    return leat::micro::run(argc, argv);
}
