// Forecasts of placements by cost against runs on simulated devices that keep real time.
//
//   device_forecast PLUGIN_FOLDER SCRATCH_FOLDER RANDOM_GRAPHS [MODEL.onnx ...]
//
// The models and so many random graphs, each placed by cost on three devices of different speeds,
// whose median operator takes 2 ms on the fastest. Results are recorded in mode `compute` with the
// same placement and replayed in mode `timed`. Of each, the median of three runs over the forecast;
// of all, the median of how far that is from 1.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <string>
#include <vector>

#include "leat/leat.h"
#include "support/forecast_graphs.h"
#include "timed_devices.h"

namespace leat::micro {
namespace {

constexpr int kRuns = 3;

// Measured over forecast.
double ratio_of(const Folders& folders, const std::string& name, const Graph& graph) {
    const Settings settings = unequal_devices();
    const std::string devices = "sim:0,sim:1,sim:2";
    const TimedRuns found = timed_runs(folders, settings, graph, {devices}, kRuns);
    const GraphPlacement& placement = found.placement;
    const double ratio = found.median_ns / placement.forecast.makespan_ns;
    int parts = 0;
    for (const DeviceShare& share : placement.devices) {
        parts += share.part_count;
    }
    fmt::print("{:<28} {:>5} {:>12.2f} {:>12.2f} {:>8.4f} {:>10.1f}\n", name, parts,
               placement.forecast.makespan_ns * 1e-6, found.median_ns * 1e-6, ratio,
               found.record_ns * 1e-9);
    std::fflush(stdout);
    return ratio;
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
    if (argc < 4) {
        fmt::print(stderr,
                   "usage: device_forecast PLUGIN_FOLDER SCRATCH_FOLDER RANDOM_GRAPHS "
                   "[MODEL.onnx ...]\n");
        return 2;
    }
    const Folders folders{argv[1], std::string(argv[2]) + "/device_forecast.runs"};
    fmt::print("{:<28} {:>5} {:>12} {:>12} {:>8} {:>10}\n", "graph", "parts", "forecast, ms",
               "run, ms", "ratio", "record, s");
    std::vector<double> models;
    for (int i = 4; i < argc; ++i) {
        const std::filesystem::path file = argv[i];
        models.push_back(
            ratio_of(folders, file.parent_path().filename().string(), needed(load_onnx(file))));
    }
    std::vector<double> random;
    for (int seed = 1; seed <= std::atoi(argv[3]); ++seed) {
        random.push_back(ratio_of(folders, fmt::format("random {}", seed),
                                  testing_support::forecast_graph(uint64_t(seed))));
    }
    report("models", models);
    report("random graphs", random);
    std::filesystem::remove(folders.recording);
    return 0;
}

}  // namespace
}  // namespace leat::micro

int main(int argc, char** argv) {
    return leat::micro::run(argc, argv);
}
