// Runs on simulated devices that keep real time: results are recorded in mode `compute` and
// replayed in mode `timed`, with the same placement.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/monotonic_clock.h"
#include "leat/leat.h"
#include "support/random_tensor.h"

namespace leat::micro {

using Settings = std::map<std::string, std::string, std::less<>>;

template <class T>
T needed(Result<T> result) {
    if (!result.ok()) {
        fmt::print(stderr, "{}\n", result.error().message());
        std::exit(1);
    }
    return *std::move(result);
}

inline void need(const Status& status) {
    if (!status.ok()) {
        fmt::print(stderr, "{}\n", status.message());
        std::exit(1);
    }
}

inline double median_of(std::vector<double> values) {
    const auto middle = values.begin() + std::ptrdiff_t(values.size() / 2);
    std::nth_element(values.begin(), middle, values.end());
    return *middle;
}

struct Folders {
    std::string plugins;
    std::string recording;  // a file
};

inline Runtime runtime_of(const Folders& folders, Settings settings, bool is_timed) {
    RuntimeOptions options;
    options.backend_path = folders.plugins;
    options.threads = 2;
    settings.emplace("mode", is_timed ? "timed" : "compute");
    settings.emplace(is_timed ? "replay" : "record", folders.recording);
    // The host would reach the memory without the link in mode `compute`.
    settings.emplace("mappable", "0");
    options.backend_settings["sim"] = std::move(settings);
    return Runtime(options);
}

inline CompiledGraph compiled_by(const Runtime& runtime,
                                 const Graph& graph,
                                 const std::string& devices) {
    CompileOptions options;
    options.devices = devices;
    options.placement_policy = PlacementPolicy::kCost;
    options.fallback = Fallback::kForbid;
    return needed(runtime.compile(graph, options));
}

inline Request bound_request(const CompiledGraph& compiled) {
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

inline double timed_ns(Request& request) {
    const int64_t begin_ns = monotonic_ns();
    need(request.run());
    return double(monotonic_ns() - begin_ns);
}

struct TimedRuns {
    double median_ns = 0;
    GraphPlacement placement;
};

// Records one run, and replays it so often.
inline TimedRuns timed_runs(const Folders& folders,
                            const Settings& settings,
                            const Graph& graph,
                            const std::string& devices,
                            int runs) {
    std::filesystem::remove(folders.recording);
    {
        const Runtime runtime = runtime_of(folders, settings, false);
        Request request = bound_request(compiled_by(runtime, graph, devices));
        need(request.run());
    }
    const Runtime runtime = runtime_of(folders, settings, true);
    const CompiledGraph compiled = compiled_by(runtime, graph, devices);
    Request request = bound_request(compiled);
    std::vector<double> times_ns;
    times_ns.reserve(size_t(runs));
    for (int run = 0; run < runs; ++run) {
        times_ns.push_back(timed_ns(request));
    }
    return {median_of(std::move(times_ns)), compiled.report().placement};
}

}  // namespace leat::micro
