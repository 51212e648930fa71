// Products of matrices divided over two simulated devices of speeds 1 and 3 that keep real time:
// one by its rows, and one of a row and six columns, of which three quarters cannot be had, by
// the axis k, with the addition of the summands.
//
//   operator_division PLUGIN_FOLDER SCRATCH_FOLDER [--rounds N]
//
// Each takes 224 ms on the fast device. At best it takes the work over the sum of both rates, 168
// ms, if nothing had to move and to be added; beside that stands the least time with the transfers
// of each device's ranges before and after it computes. A round is a Runtime of its own and the
// median of five runs.
#include <fmt/core.h>

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

struct Case {
    const char* axis;
    int64_t m;
    int64_t k;
    int64_t n;
    double flops_per_s;  // of the slow device; the other one has three times that
    DivideOperators divide;

    double flops() const { return 2.0 * double(m) * double(n) * double(k); }
    // Of x, and of y, of which each device moves its rows, or all.
    double divided_bytes() const { return double(m) * double(is_summed() ? k : k + n) * 4; }
    double whole_bytes() const { return is_summed() ? double(m) * double(n) * 4 : 0; }
    bool is_summed() const { return divide == DivideOperators::kChangingBits; }
};
constexpr Case kCases[] = {
    {"rows", 512, 256, 256, 1e8, DivideOperators::kKeepingBits},
    {"inner", 1, 560'000, 6, 1e7, DivideOperators::kChangingBits},
};
constexpr double kLinkBytesPerS = 1e9;
constexpr double kLatencyNs = 10e3;
constexpr int kRuns = 5;
constexpr double kLimit = 1.05;

Graph product(const Case& own) {
    Graph graph("product");
    const ValueId x = graph.input("x", DType::kFloat32, {own.m, own.k});
    const ValueId w = graph.constant("w", random_tensor({own.k, own.n}, 2));
    graph.output("y", graph.add("MatMul", {x, w}, {}, "product"));
    return graph;
}

struct Ideal {
    double alone_ns = 0;    // computing
    double moving_ns = 0;   // with the transfers
    double on_fast_ns = 0;  // computing, undivided
};

// Shares of devices that end at T: sum (T - fixed) / whole = 1.
Ideal ideal(const Case& own) {
    constexpr double kNsPerByte = 1e9 / kLinkBytesPerS;
    Ideal result;
    result.on_fast_ns = 1e9 * own.flops() / (3 * own.flops_per_s);
    result.alone_ns = 1e9 * own.flops() / (4 * own.flops_per_s);
    double rate = 0;
    double begun = 0;
    for (const double flops_per_s : {own.flops_per_s, 3 * own.flops_per_s}) {
        const double whole_ns = 1e9 * own.flops() / flops_per_s + own.divided_bytes() * kNsPerByte;
        rate += 1 / whole_ns;
        begun += (2 * kLatencyNs + own.whole_bytes() * kNsPerByte) / whole_ns;
    }
    result.moving_ns = (1 + begun) / rate;
    return result;
}

TimedRuns run_round(const Case& own, const Folders& folders) {
    const Settings settings = {
        {"devices", "2"},
        {"flops_per_s", fmt::format("{},{}", own.flops_per_s, 3 * own.flops_per_s)},
        {"bytes_per_s", "1e12"},
        {"link_latency_us", fmt::format("{}", kLatencyNs * 1e-3)},
        {"link_bytes_per_s", fmt::format("{}", kLinkBytesPerS)}};
    return timed_runs(folders, settings, product(own),
                      {.devices = "sim:0,sim:1", .divide_operators = own.divide}, kRuns);
}

// Whether the median is within the limit.
bool run_case(const Case& own, const Folders& folders, int rounds) {
    const Ideal best = ideal(own);
    fmt::print(
        "by {}; ideal: {:.3f} ms of computing, {:.3f} ms with transfers; whole on the fast device "
        "{:.3f} ms\n",
        own.axis, best.alone_ns * 1e-6, best.moving_ns * 1e-6, best.on_fast_ns * 1e-6);
    fmt::print("{:>5} {:>12} {:>12} {:>10} {:>15} {:>8}\n", "round", "forecast, ms", "run, ms",
               "of ideal", "with transfers", "axis");
    std::vector<double> ratios;
    for (int round = 0; round < rounds; ++round) {
        const TimedRuns found = run_round(own, folders);
        const std::vector<DividedOperator>& divided = found.placement.forecast.divided;
        ratios.push_back(found.median_ns / best.alone_ns);
        fmt::print("{:>5} {:>12.3f} {:>12.3f} {:>10.4f} {:>15.4f} {:>8}\n", round,
                   found.placement.forecast.makespan_ns * 1e-6, found.median_ns * 1e-6,
                   ratios.back(), found.median_ns / best.moving_ns,
                   divided.empty() ? "whole" : divided[0].axis);
    }
    std::filesystem::remove(folders.recording);
    const auto [least, most] = std::minmax_element(ratios.begin(), ratios.end());
    fmt::print("measured / ideal: median {:.4f}, least {:.4f}, most {:.4f}, limit {}\n",
               median_of(ratios), *least, *most, kLimit);
    return median_of(ratios) <= kLimit;
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
    bool is_within = true;
    for (const Case& own : kCases) {
        is_within = run_case(own, folders, rounds) && is_within;
    }
    return is_within ? 0 : 1;
}

}  // namespace
}  // namespace leat::micro

int main(int argc, char** argv) {
    return leat::micro::run(argc, argv);
}
