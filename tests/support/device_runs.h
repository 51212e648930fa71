// Runtimes with the simulated device, and what traces say of its runs.
#pragma once

#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <utility>

#include "leat/runtime.h"

namespace leat::testing_support {

// By what pins name, and by what settings of a backend do.
using Pins = std::map<std::string, std::string, std::less<>>;
using Settings = std::map<std::string, std::string, std::less<>>;

inline RuntimeOptions sim_options(int threads, Settings settings = {}) {
    RuntimeOptions options;
    const char* folder = std::getenv("LEAT_BUILT_BACKENDS");
    options.backend_path = folder == nullptr ? "." : folder;
    options.backend_settings["sim"] = std::move(settings);
    options.threads = threads;
    return options;
}

// In virtual time: three of different speeds, on links of different speeds.
inline Settings unequal_devices() {
    return {{"mode", "virtual"},
            {"devices", "3"},
            {"flops_per_s", "4e8,1e9,2e9"},
            {"bytes_per_s", "1e9,1e9,4e9"},
            {"link_latency_us", "5,20,10"},
            {"link_bytes_per_s", "2e9,1e9,4e9"}};
}

inline CompileOptions by_cost(const std::string& devices) {
    CompileOptions options;
    options.devices = devices;
    options.placement_policy = PlacementPolicy::kCost;
    options.fallback = Fallback::kForbid;
    return options;
}

// In microseconds after the begin of the run; both -1: the trace has no such event.
struct EventTime {
    double begin = -1;
    double end = -1;
};
inline EventTime event_time(const std::string& trace, const std::string& name) {
    const size_t at = trace.find("\"name\":\"" + name + "\"");
    if (at == std::string::npos) {
        return {};
    }
    const auto number = [&](const char* key) {
        return std::strtod(trace.c_str() + trace.find(key, at) + std::strlen(key), nullptr);
    };
    const double begin = number("\"ts\":");
    return {begin, begin + number("\"dur\":")};
}

}  // namespace leat::testing_support
