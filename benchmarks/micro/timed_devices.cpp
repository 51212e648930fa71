#include "timed_devices.h"

#include <algorithm>
#include <filesystem>

#include "base/monotonic_clock.h"
#include "support/random_tensor.h"

namespace leat::micro {

void need(const Status& status) {
    if (!status.ok()) {
        fmt::print(stderr, "{}\n", status.message());
        std::exit(1);
    }
}

double median_of(std::vector<double> values) {
    const auto middle = values.begin() + std::ptrdiff_t(values.size() / 2);
    std::nth_element(values.begin(), middle, values.end());
    return *middle;
}

Settings unequal_devices() {
    return {{"devices", "3"},
            {"flops_per_s", "4e8,1e9,2e9"},
            {"bytes_per_s", "1e9,1e9,4e9"},
            {"link_latency_us", "5,20,10"},
            {"link_bytes_per_s", "2e9,1e9,4e9"},
            {"median_op_us", "2000"}};
}

Runtime runtime_of(const Folders& folders, Settings settings, SimMode mode) {
    const bool is_timed = mode == SimMode::kReplay;
    RuntimeOptions options;
    options.backend_path = folders.plugins;
    options.threads = 2;
    options.calibration_folder = folders.recording + ".costs";
    settings.emplace("mode", is_timed ? "timed" : "compute");
    settings.emplace(is_timed ? "replay" : "record", folders.recording);
    // The host would reach the memory without the link in mode `compute`.
    settings.emplace("mappable", "0");
    options.backend_settings["sim"] = std::move(settings);
    return Runtime(options);
}

CompiledGraph compiled_by(const Runtime& runtime,
                          const Graph& graph,
                          const Placing& placing,
                          bool is_traced) {
    CompileOptions options;
    options.devices = placing.devices;
    options.placement_policy = PlacementPolicy::kCost;
    options.fallback = Fallback::kForbid;
    options.requests_in_flight = placing.requests_in_flight;
    options.divide_operators = placing.divide_operators;
    options.is_traced = is_traced;
    return needed(runtime.compile(graph, options));
}

void bind_inputs(const CompiledGraph& compiled, Request& request) {
    for (const ValueInfo& input : compiled.inputs()) {
        Shape shape;
        for (const DimSpec& dim : input.dims) {
            shape.append(dim.is_fixed() ? dim.extent() : 1);
        }
        need(request.bind(input.name, testing_support::random_tensor(shape, 1)));
    }
}

double record(const Folders& folders,
              const Settings& settings,
              const Graph& graph,
              const Placing& placing) {
    std::filesystem::remove(folders.recording);
    const Runtime runtime = runtime_of(folders, settings, SimMode::kRecord);
    const CompiledGraph compiled = compiled_by(runtime, graph, placing);
    Request request = needed(compiled.make_request());
    bind_inputs(compiled, request);
    return timed_ns(request);
}

double timed_ns(Request& request) {
    const int64_t begin_ns = monotonic_ns();
    need(request.run());
    return double(monotonic_ns() - begin_ns);
}

TimedRuns timed_runs(const Folders& folders,
                     const Settings& settings,
                     const Graph& graph,
                     const Placing& placing,
                     int runs) {
    TimedRuns found;
    found.record_ns = record(folders, settings, graph, placing);
    const Runtime runtime = runtime_of(folders, settings, SimMode::kReplay);
    const CompiledGraph compiled = compiled_by(runtime, graph, placing);
    found.placement = compiled.report().placement;
    Request request = needed(compiled.make_request());
    bind_inputs(compiled, request);
    std::vector<double> times_ns;
    times_ns.reserve(size_t(runs));
    for (int run = 0; run < runs; ++run) {
        times_ns.push_back(timed_ns(request));
    }
    found.median_ns = median_of(std::move(times_ns));
    return found;
}

}  // namespace leat::micro
