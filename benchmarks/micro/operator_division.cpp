// A product of matrices divided over two simulated devices of speeds 1 and 3 that keep real time.
//
//   operator_division PLUGIN_FOLDER SCRATCH_FOLDER [--rounds N]
//
// The product takes 224 ms on the fast device. At best it takes the work over the sum of both
// rates, 168 ms, if nothing had to move; beside that stands the least time with the transfers of
// each device's rows before and after it computes. A round is a Runtime of its own and the median
// of five runs.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "support/random_tensor.h"
#include "timed_devices.h"

namespace leat::micro {
namespace {

using testing_support::random_tensor;

constexpr int64_t kM = 512;
constexpr int64_t kK = 256;
constexpr int64_t kN = 256;
constexpr double kRates[] = {1e8, 3e8};
constexpr double kLinkBytesPerS = 1e9;
constexpr double kLatencyNs = 10e3;
constexpr int kRuns = 5;
constexpr double kLimit = 1.05;

Graph product() {
    Graph graph("product");
    const ValueId x = graph.input("x", DType::kFloat32, {kM, kK});
    const ValueId w = graph.constant("w", random_tensor({kK, kN}, 2));
    graph.output("y", graph.add("MatMul", {x, w}, {}, "product"));
    return graph;
}

struct Ideal {
    double alone_ns = 0;    // computing
    double moving_ns = 0;   // with the transfers
    double on_fast_ns = 0;  // computing, undivided
};

// Shares of devices that end at T: sum (T - fixed) / whole = 1.
Ideal ideal() {
    constexpr double kFlops = 2.0 * kM * kN * kK;
    constexpr double kMovedNs = 1e9 * kM * (kK + kN) * sizeof(float) / kLinkBytesPerS;
    Ideal result;
    result.on_fast_ns = 1e9 * kFlops / kRates[1];
    result.alone_ns = 1e9 * kFlops / (kRates[0] + kRates[1]);
    double rate = 0;
    double begun = 0;
    for (const double flops_per_s : kRates) {
        const double whole_ns = 1e9 * kFlops / flops_per_s + kMovedNs;
        rate += 1 / whole_ns;
        begun += 2 * kLatencyNs / whole_ns;
    }
    result.moving_ns = (1 + begun) / rate;
    return result;
}

TimedRuns run_round(const Folders& folders) {
    const Settings settings = {{"devices", "2"},
                               {"flops_per_s", fmt::format("{},{}", kRates[0], kRates[1])},
                               {"bytes_per_s", "1e12"},
                               {"link_latency_us", fmt::format("{}", kLatencyNs * 1e-3)},
                               {"link_bytes_per_s", fmt::format("{}", kLinkBytesPerS)}};
    return timed_runs(folders, settings, product(),
                      {.devices = "sim:0,sim:1", .divides_operators = true}, kRuns);
}

int run(int argc, char** argv) {
    int rounds = 5;
    const bool has_rounds = argc == 5 && std::string_view(argv[3]) == "--rounds";
    if (has_rounds) {
        const std::string_view text = argv[4];
        std::from_chars(text.data(), text.data() + text.size(), rounds);
    }
    if ((argc != 3 && !has_rounds) || rounds < 1) {
        fmt::print(stderr, "usage: operator_division PLUGIN_FOLDER SCRATCH_FOLDER [--rounds N]\n");
        return 2;
    }
    const Folders folders{argv[1], std::string(argv[2]) + "/operator_division.runs"};
    const Ideal best = ideal();
    fmt::print(
        "ideal: {:.3f} ms of computing, {:.3f} ms with transfers; whole on the fast device "
        "{:.3f} ms\n",
        best.alone_ns * 1e-6, best.moving_ns * 1e-6, best.on_fast_ns * 1e-6);
    fmt::print("{:>5} {:>12} {:>12} {:>10} {:>15}\n", "round", "forecast, ms", "run, ms",
               "of ideal", "with transfers");
    std::vector<double> ratios;
    for (int round = 0; round < rounds; ++round) {
        const TimedRuns found = run_round(folders);
        ratios.push_back(found.median_ns / best.alone_ns);
        fmt::print("{:>5} {:>12.3f} {:>12.3f} {:>10.4f} {:>15.4f}{}\n", round,
                   found.placement.forecast.makespan_ns * 1e-6, found.median_ns * 1e-6,
                   ratios.back(), found.median_ns / best.moving_ns,
                   found.placement.forecast.divided.empty() ? " whole" : "");
    }
    std::filesystem::remove(folders.recording);
    const auto [least, most] = std::minmax_element(ratios.begin(), ratios.end());
    fmt::print("measured / ideal: median {:.4f}, least {:.4f}, most {:.4f}, limit {}\n",
               median_of(ratios), *least, *most, kLimit);
    return median_of(ratios) <= kLimit ? 0 : 1;
}

}  // namespace
}  // namespace leat::micro

int main(int argc, char** argv) {
    return leat::micro::run(argc, argv);
}
