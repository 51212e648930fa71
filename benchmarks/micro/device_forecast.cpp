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
#include <cstdlib>
#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/monotonic_clock.h"
#include "leat/leat.h"
#include "support/forecast_graphs.h"
#include "support/random_tensor.h"

namespace leat::micro {
namespace {

constexpr int kRuns = 3;

using Settings = std::map<std::string, std::string, std::less<>>;

// What fails ends the program.
void need(const Status& status) {
    if (!status.ok()) {
        fmt::print(stderr, "{}\n", status.message());
        std::exit(1);
    }
}
template <class T>
T needed(Result<T> result) {
    need(result.ok() ? Status() : result.error());
    return *std::move(result);
}

double median_of(std::vector<double> values) {
    const auto middle = values.begin() + std::ptrdiff_t(values.size() / 2);
    std::nth_element(values.begin(), middle, values.end());
    return *middle;
}

struct Folders {
    std::string plugins;
    std::string recording;  // a file
};

// Three of different speeds, the median operator 2 ms on the fastest, on links of different speeds.
Settings unequal_devices() {
    return {{"devices", "3"},
            {"flops_per_s", "4e8,1e9,2e9"},
            {"bytes_per_s", "1e9,1e9,4e9"},
            {"link_latency_us", "5,20,10"},
            {"link_bytes_per_s", "2e9,1e9,4e9"},
            {"median_op_us", "2000"}};
}

enum class SimMode : uint8_t { kRecord, kReplay };

// Two threads.
Runtime runtime_of(const Folders& folders, SimMode mode) {
    const bool is_timed = mode == SimMode::kReplay;
    RuntimeOptions options;
    options.backend_path = folders.plugins;
    options.threads = 2;
    options.calibration_folder = folders.recording + ".costs";
    Settings settings = unequal_devices();
    settings.emplace("mode", is_timed ? "timed" : "compute");
    settings.emplace(is_timed ? "replay" : "record", folders.recording);
    // The host would reach the memory without the link in mode `compute`.
    settings.emplace("mappable", "0");
    options.backend_settings["sim"] = std::move(settings);
    return Runtime(options);
}

CompiledGraph compiled_by(const Runtime& runtime, const Graph& graph) {
    CompileOptions options;
    options.devices = "sim:0,sim:1,sim:2";
    options.placement_policy = PlacementPolicy::kCost;
    options.fallback = Fallback::kForbid;
    options.divide_operators = DivideOperators::kNever;
    return needed(runtime.compile(graph, options));
}

Request request_of(const CompiledGraph& compiled) {
    Request request = needed(compiled.make_request());
    for (const ValueInfo& input : compiled.inputs()) {
        Shape shape;
        for (const DimSpec& dim : input.dims) {
            shape.append(dim.is_fixed() ? dim.extent() : 1);
        }
        need(request.bind(input.name, testing_support::random_tensor(shape, 1)));
    }
    return request;
}

double timed_ns(Request& request) {
    const int64_t begin_ns = monotonic_ns();
    need(request.run());
    return double(monotonic_ns() - begin_ns);
}

// Runs the graph once, for the recording alone.
double record_ns(const Folders& folders, const Graph& graph) {
    std::filesystem::remove(folders.recording);
    const Runtime runtime = runtime_of(folders, SimMode::kRecord);
    const CompiledGraph compiled = compiled_by(runtime, graph);
    Request request = request_of(compiled);
    return timed_ns(request);
}

// Measured over forecast.
double ratio_of(const Folders& folders, const std::string& name, const Graph& graph) {
    const double recorded_ns = record_ns(folders, graph);
    const Runtime runtime = runtime_of(folders, SimMode::kReplay);
    const CompiledGraph compiled = compiled_by(runtime, graph);
    Request request = request_of(compiled);
    std::vector<double> times_ns;
    times_ns.reserve(kRuns);
    for (int run = 0; run < kRuns; ++run) {
        times_ns.push_back(timed_ns(request));
    }
    const double median_ns = median_of(std::move(times_ns));
    const GraphPlacement placement = compiled.report().placement;
    const double ratio = median_ns / placement.forecast.makespan_ns;
    int parts = 0;
    for (const DeviceShare& share : placement.devices) {
        parts += share.part_count;
    }
    fmt::print("{:<28} {:>5} {:>12.2f} {:>12.2f} {:>8.4f} {:>10.1f}\n", name, parts,
               placement.forecast.makespan_ns * 1e-6, median_ns * 1e-6, ratio, recorded_ns * 1e-9);
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
