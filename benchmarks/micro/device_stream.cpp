// Streams of requests, and runs beside the CPU, on simulated devices that keep real time.
//
//   device_stream PLUGIN_FOLDER SCRATCH_FOLDER streams|beside
//
// streams: one thread keeps three requests in flight. A stream whose transfers take as long as
// their operator; a chain of operators on two equal devices, as placed for one request and as
// placed for three; random graphs on three devices, placed for three: the time between two results
// over the forecast's period.
//
// beside: random graphs on the CPU, which computes, and one simulated device, placed by the CPU's
// calibrated times: runs over their forecasts, and the share of a run in which workers of the CPU
// and the device are busy, by the counters "busy" of its trace. Before and after each series how
// many cores the process really gets: one on fewer than 1.8 is not counted.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/monotonic_clock.h"
#include "leat/leat.h"
#include "scheduler/capacity.h"
#include "support/forecast_graphs.h"
#include "timed_devices.h"

namespace leat::micro {
namespace {

using testing_support::forecast_graph;

constexpr int kInFlight = 3;

// When each of so many requests was taken, on the monotonic clock; at first when the first of them
// was submitted.
std::vector<double> stream_ns(const CompiledGraph& compiled, int requests) {
    RequestQueueOptions options;
    options.depth = kInFlight;
    RequestQueue queue = needed(RequestQueue::make(compiled, options));
    std::vector<double> times_ns = {double(monotonic_ns())};
    for (int submitted = 0; int(times_ns.size()) <= requests;) {
        for (; submitted < requests && !queue.is_full(); ++submitted) {
            if (submitted < kInFlight) {
                bind_inputs(compiled, queue.next());
            }
            need(queue.submit());
        }
        needed(queue.take());
        times_ns.push_back(double(monotonic_ns()));
    }
    return times_ns;
}

// Without the first and the last ones.
double period_ns(const std::vector<double>& times_ns) {
    constexpr size_t kFirst = size_t{2} * size_t{kInFlight};
    const size_t last = times_ns.size() - 1 - kInFlight;
    return (times_ns[last] - times_ns[kFirst]) / double(last - kFirst);
}

// An operator of 20 ms whose operand takes 20 ms to move.
void time_copies(const Folders& folders) {
    constexpr int kRequests = 48;
    constexpr double kStepNs = 20e6;
    const Graph graph = testing_support::narrow_product(256, 1024);
    const Settings settings = {{"flops_per_s", fmt::format("{}", 2.0 * 256 * 1024 * 4 / 20e-3)},
                               {"bytes_per_s", "1e12"},
                               {"link_latency_us", "0"},
                               {"link_bytes_per_s", fmt::format("{}", 256.0 * 1024 * 4 / 20e-3)}};
    record(folders, settings, graph, {"sim", kInFlight});
    const Runtime runtime = runtime_of(folders, settings, SimMode::kReplay);
    const CompiledGraph compiled = compiled_by(runtime, graph, {"sim", kInFlight});
    const std::vector<double> times_ns = stream_ns(compiled, kRequests);
    const double wall_ns = times_ns.back() - times_ns.front();
    fmt::print(
        "copies as long as the operator: {} runs, {} in flight: {:.1f} ms, {:.3f} of the "
        "operator's rate\n",
        kRequests, kInFlight, wall_ns * 1e-6, kRequests * kStepNs / wall_ns);
}

double chain_period_ns(const Folders& folders, int placed_for) {
    constexpr int kRequests = 30;
    const Graph graph = testing_support::product_chain(8, 32, 64);
    // An operator takes 5.2 ms, a copy 18 us.
    const Settings settings = {{"devices", "2"},
                               {"flops_per_s", "5e7"},
                               {"bytes_per_s", "1e10"},
                               {"link_latency_us", "10"},
                               {"link_bytes_per_s", "1e9"}};
    record(folders, settings, graph, {"sim:0,sim:1", placed_for});
    const Runtime runtime = runtime_of(folders, settings, SimMode::kReplay);
    const CompiledGraph compiled = compiled_by(runtime, graph, {"sim:0,sim:1", placed_for});
    const PlacementForecast forecast = compiled.report().placement.forecast;
    const double measured_ns = period_ns(stream_ns(compiled, kRequests));
    fmt::print(
        "chain of 8 on two devices, placed for {} in flight: a result every {:.2f} ms "
        "(forecast {:.2f}, one run {:.2f}), from '{}'\n",
        placed_for, measured_ns * 1e-6, forecast.period_ns * 1e-6, forecast.makespan_ns * 1e-6,
        forecast.found_by);
    return measured_ns;
}

void time_random_streams(const Folders& folders) {
    constexpr int kGraphs = 20;
    constexpr int kRequests = 27;
    const Settings settings = unequal_devices();
    const std::string devices = "sim:0,sim:1,sim:2";
    std::vector<double> off;
    std::vector<double> gains;
    for (uint64_t seed = 1; seed <= kGraphs; ++seed) {
        const Graph graph = forecast_graph(seed);
        record(folders, settings, graph, {devices, kInFlight});
        const Runtime runtime = runtime_of(folders, settings, SimMode::kReplay);
        const CompiledGraph compiled = compiled_by(runtime, graph, {devices, kInFlight});
        const PlacementForecast forecast = compiled.report().placement.forecast;
        const double ratio = period_ns(stream_ns(compiled, kRequests)) / forecast.period_ns;
        off.push_back(std::abs(ratio - 1));
        // "soonest result" comes first.
        gains.push_back(forecast.simple[0].period_ns / forecast.period_ns);
        fmt::print(
            "random {:<3} period {:>8.2f} ms, measured / forecast {:.4f}, over the soonest "
            "result's {:.2f}\n",
            seed, forecast.period_ns * 1e-6, ratio, gains.back());
    }
    fmt::print(
        "random graphs: {}, |measured / forecast - 1|: median {:.4f}, most {:.4f}; period of "
        "the placement for one request over it: median {:.2f}, most {:.2f}\n",
        kGraphs, median_of(off), *std::max_element(off.begin(), off.end()), median_of(gains),
        *std::max_element(gains.begin(), gains.end()));
}

// Of the time between the first event and the last, in which workers were busy, the device was, and
// both were.
struct BusyTime {
    double workers = 0;
    double device = 0;
    double both = 0;
};

BusyTime busy_time(const std::string& trace) {
    const Json json = needed(Json::parse(trace));
    BusyTime busy;
    double all = 0;
    double last = -1;
    bool has_workers = false;
    bool has_device = false;
    for (const Json& event : json["traceEvents"].items()) {
        if (event["name"].text() != "busy") {
            continue;
        }
        const double at = event["ts"].number();
        const double passed = last < 0 ? 0 : at - last;
        all += passed;
        busy.workers += has_workers ? passed : 0;
        busy.device += has_device ? passed : 0;
        busy.both += has_workers && has_device ? passed : 0;
        last = at;
        has_workers = event["args"]["workers"].number() > 0;
        has_device = event["args"]["sim"].number() > 0;
    }
    return all == 0 ? busy : BusyTime{busy.workers / all, busy.device / all, busy.both / all};
}

// Measured as the CPU's times, which placements take from then on.
void calibrate_host(const Folders& folders, const Settings& settings, const Graph& graph) {
    const Runtime runtime = runtime_of(folders, settings, SimMode::kRecord);
    CompileOptions options;
    options.devices = "cpu";
    options.calibrate = Calibrate::kMissing;
    needed(runtime.compile(graph, options));
}

struct Beside {
    double off = 0;  // |measured / forecast - 1|
    double spread = 0;
    BusyTime busy;
    double cores = 0;  // the fewer ones of before and after
    bool uses_both = false;
};

Beside run_beside(const Folders& folders, uint64_t seed) {
    constexpr int kRuns = 11;
    const Graph graph = forecast_graph(seed, 10);
    // The replay itself reads and moves all operands, which is to take less than what it stands
    // for.
    const Settings settings = {{"flops_per_s", "3e10"},
                               {"bytes_per_s", "1e9"},
                               {"link_latency_us", "100"},
                               {"link_bytes_per_s", "1e9"}};
    calibrate_host(folders, settings, graph);
    record(folders, settings, graph, {"sim,cpu"});
    const Runtime runtime = runtime_of(folders, settings, SimMode::kReplay);
    const CompiledGraph compiled = compiled_by(runtime, graph, {"sim,cpu"}, true);
    const PlacementForecast forecast = compiled.report().placement.forecast;
    Beside result;
    result.uses_both =
        forecast.busy.size() == 2 && forecast.busy[0].share > 0.05 && forecast.busy[1].share > 0.05;
    if (!result.uses_both) {
        return result;
    }
    Request request = needed(compiled.make_request());
    bind_inputs(compiled, request);
    result.cores = effective_cores(2);
    std::vector<double> ratios;
    for (int run = 0; run < kRuns; ++run) {
        const double ratio = timed_ns(request) / forecast.makespan_ns;
        ratios.push_back(ratio);
    }
    result.busy = busy_time(request.trace_json());
    result.cores = std::min(result.cores, effective_cores(2));
    const double median = median_of(ratios);
    std::sort(ratios.begin(), ratios.end());
    result.off = std::abs(median - 1);
    result.spread = (ratios[kRuns * 3 / 4] - ratios[kRuns / 4]) / median;
    fmt::print(
        "random {:<3} forecast {:>7.2f} ms (host {:.2f}, device {:.2f} busy), measured / "
        "forecast {:.3f} (quartiles {:.3f} to {:.3f}), busy: workers {:.2f}, device {:.2f}, "
        "both {:.2f}; {:.2f} cores{}\n",
        seed, forecast.makespan_ns * 1e-6, forecast.busy[0].share, forecast.busy[1].share, median,
        ratios[kRuns / 4], ratios[kRuns * 3 / 4], result.busy.workers, result.busy.device,
        result.busy.both, result.cores, result.cores < kParallelCores ? ": not counted" : "");
    return result;
}

void time_beside(const Folders& folders) {
    constexpr uint64_t kGraphs = 60;
    std::vector<double> off;
    std::vector<double> spreads;
    std::vector<double> both;
    int one_sided = 0;
    int on_few_cores = 0;
    for (uint64_t seed = 1; seed <= kGraphs; ++seed) {
        const Beside result = run_beside(folders, seed);
        one_sided += result.uses_both ? 0 : 1;
        on_few_cores += result.uses_both && result.cores < kParallelCores ? 1 : 0;
        if (result.uses_both && result.cores >= kParallelCores) {
            off.push_back(result.off);
            spreads.push_back(result.spread);
            both.push_back(result.busy.both);
        }
    }
    fmt::print("{} graphs: {} on one of the two only, {} on too few cores, {} counted\n", kGraphs,
               one_sided, on_few_cores, off.size());
    if (!off.empty()) {
        fmt::print(
            "|measured / forecast - 1|: median {:.3f}, most {:.3f}; spread of the runs: "
            "median {:.3f}; share with both busy: median {:.2f}, {:.2f} to {:.2f}\n",
            median_of(off), *std::max_element(off.begin(), off.end()), median_of(spreads),
            median_of(both), *std::min_element(both.begin(), both.end()),
            *std::max_element(both.begin(), both.end()));
    }
}

int run(int argc, char** argv) {
    const std::string part = argc == 4 ? argv[3] : "";
    if (part != "streams" && part != "beside") {
        fmt::print(stderr, "usage: device_stream PLUGIN_FOLDER SCRATCH_FOLDER streams|beside\n");
        return 2;
    }
    const Folders folders{argv[1], std::string(argv[2]) + "/device_stream.runs"};
    if (part == "streams") {
        time_copies(folders);
        const double for_one_ns = chain_period_ns(folders, 1);
        fmt::print("that is {:.2f} times as often\n",
                   for_one_ns / chain_period_ns(folders, kInFlight));
        time_random_streams(folders);
    } else {
        time_beside(folders);
    }
    std::filesystem::remove(folders.recording);
    std::filesystem::remove_all(folders.recording + ".costs");
    return 0;
}

}  // namespace
}  // namespace leat::micro

int main(int argc, char** argv) {
    return leat::micro::run(argc, argv);
}
