// How precisely sim keeps real time in mode timed, and what waiting costs:
//   sim_precision leat_sim.so
// A chain of submissions of one length, submitted at once. "Late" is from a point's computed end to
// the callback that tells of it; "drift" is how much longer the whole chain took than asked.
#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "base/monotonic_clock.h"
#include "contract/paced_device.h"
#include "support/process_cpu.h"

namespace leat::contract {
namespace {

constexpr double kSeriesNs = 1e9;
constexpr size_t kMostOperations = 2000;  // callbacks that wait cost time at each point

// A callback that notes when it came.
struct Heard {
    int64_t at_ns = 0;
    Token* last = nullptr;  // null: not the last one
    static void hear(void* user, LeatCode code) {
        auto& heard = *static_cast<Heard*>(user);
        heard.at_ns = monotonic_ns();
        if (heard.last != nullptr) {
            heard.last->set(code);
        }
    }
};

double at_fraction(std::vector<double>& sorted, double fraction) {
    return sorted[std::min(sorted.size() - 1, size_t(fraction * double(sorted.size())))];
}

void measure(const Target& target, const std::string& recording, int64_t op_us) {
    // A byte a microsecond.
    PacedDevice sim(target, {{"mode", "timed"}, {"replay", recording}, {"bytes_per_s", "1e6"}});
    LeatSlab* slab = sim.slab(0, op_us);
    auto sample = plugin::made<LeatClockSample>();
    const LeatBackendApi& api = sim.context().api();
    Context::expect_ok(api.clock_correlation(sim.backend(), 0, &sample, nullptr), "clock", {});
    const auto count = std::min(kMostOperations, size_t(kSeriesNs / double(op_us) / 1e3));
    std::vector<Heard> heard(count);
    std::vector<PacedDevice::Submitted> submitted;
    Token last;
    heard.back().last = &last;
    const int64_t cpu_ns = process_cpu_ns();
    for (Heard& one : heard) {
        submitted.push_back(sim.fill(0, slab, op_us));
        PluginError error;
        Context::expect_ok(
            api.on_reached(sim.backend(), submitted.back().point, Heard::hear, &one, error.get()),
            "on_reached", error);
    }
    const double submitting_ns = double(process_cpu_ns() - cpu_ns);
    (void)last.wait();
    const double used_ns = double(process_cpu_ns() - cpu_ns) - submitting_ns;
    std::vector<double> late_us;
    for (size_t i = 0; i < count; ++i) {
        const int64_t end_ns =
            sample.host_ns + submitted[i].times->get().second - sample.device_ticks;
        late_us.push_back(double(heard[i].at_ns - end_ns) / 1e3);
    }
    const int64_t begin_ns = sample.host_ns + submitted[0].times->get().first - sample.device_ticks;
    const double taken_ns = double(heard.back().at_ns - begin_ns);
    const double asked_ns = double(op_us) * 1e3 * double(count);
    std::sort(late_us.begin(), late_us.end());
    fmt::print("| {:.2f} | {} | {:.3f} | {:+.3f} % | {:.0f} | {:.0f} | {:.0f} | {:.2f} % |\n",
               double(op_us) / 1e3, count, taken_ns / 1e6, 100 * (taken_ns / asked_ns - 1),
               at_fraction(late_us, 0.5), at_fraction(late_us, 0.99), late_us.back(),
               100 * used_ns / taken_ns);
}

}  // namespace
}  // namespace leat::contract

int main(int argc, char** argv) {
    if (argc != 2) {
        fmt::print(stderr, "usage: sim_precision leat_sim.so\n");
        return 2;
    }
    const std::string recording =
        (std::filesystem::temp_directory_path() / fmt::format("leat_sim_{}", ::getpid())).string();
    std::ofstream(recording).flush();
    leat::contract::Target target;
    target.file = argv[1];
    int result = 0;
    fmt::print("| ms each | number | ms taken | drift | late, us: median | 99 % | most | CPU |\n");
    fmt::print("|---:|---:|---:|---:|---:|---:|---:|---:|\n");
    try {
        for (const int64_t op_us : {50, 200, 500, 2000, 10000, 50000}) {
            leat::contract::measure(target, recording, op_us);
        }
    } catch (const leat::contract::Failure& failure) {
        fmt::print(stderr, "{}\n", failure.reason);
        result = 1;
    } catch (const leat::contract::Unimplemented& absent) {
        fmt::print(stderr, "{}\n", absent.reason);
        result = 1;
    }
    std::filesystem::remove(recording);
    return result;
}
