// sim in mode timed: recordings and their replay, times by absolute timers, and the processor left
// alone. No test here says that something is fast: the machine may be as late as it likes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstring>
#include <ctime>
#include <memory>

#include "base/monotonic_clock.h"
#include "contract/compiled.h"
#include "contract/paced_device.h"
#include "support/process_cpu.h"
#include "support/scratch_folder.h"

namespace leat::contract {
namespace {

using ::testing::HasSubstr;

class TimedSim : public ::testing::Test {
  protected:
    std::string recording() const { return (folder_.path() / "runs").string(); }
    BackendSettings recording_settings() const { return {{"record", recording()}}; }
    BackendSettings timed(const BackendSettings& further = {}) const {
        BackendSettings settings = {{"mode", "timed"}, {"replay", recording()}};
        settings.insert(further.begin(), further.end());
        return settings;
    }
    // A recording without runs, for what only moves bytes.
    void record_nothing() const { write_contents(recording(), ""); }

    const ScratchFolder folder_;
    const Target target_ = built_sim();
};

// What create() answers to the settings.
std::string refusal(const Target& target, const BackendSettings& settings) {
    const HostServices host;
    auto plugin = LoadedPlugin::open(target.file, host);
    EXPECT_TRUE(plugin.ok()) << plugin.error().message();
    const Status status = (*plugin)->start(settings);
    return status.ok() ? "" : status.message();
}

// y = x + c on a device that was made with the settings; the point's code, text and y.
struct Ran {
    LeatCode code = kLeatOk;
    std::string text;
    std::vector<float> y;
};
Ran run_add(const Target& target,
            const BackendSettings& settings,
            const std::vector<float>& x,
            float c,
            int64_t rows = 1) {
    PacedDevice sim(target, settings);
    Context& context = sim.context();
    GraphView graph;
    const int32_t rows_symbol = graph.symbol("n", 1, 8);
    const int32_t in = graph.input("x", kFloat32, {rows_symbol, 2});
    const int32_t constant = graph.constant("c", {2}, {c, c});
    const int32_t out = graph.value("y", kFloat32, {rows_symbol, 2});
    graph.node("Add", {in, constant}, {out});
    graph.output(out);
    Compiled compiled(context, graph);
    compiled.pack(graph);
    compiled.link({{rows}, {}});
    const auto bytes = int64_t(x.size() * sizeof(float));
    LeatSlab* from = context.slab(bytes);
    LeatSlab* to = context.slab(bytes);
    void* host = context.host_bytes(bytes);
    std::memcpy(host, x.data(), size_t(bytes));
    context.wait_ok(context.copy_in(context.compute_queue(), host, {from, 0}, bytes));
    context.wait_ok(context.fill(context.compute_queue(), {to, 0}, bytes, 0));
    const LeatPoint point =
        compiled.execute({{from, 0, bytes, nullptr}}, {{to, 0, bytes, nullptr}});
    Ran ran;
    ran.code = sim.wait(point);
    PluginError error;
    (void)context.api().poll(context.backend(), point, error.get());
    ran.text = error.text();
    const std::vector<uint8_t> found = context.bytes_of({to, 0}, bytes);
    ran.y.resize(x.size());
    std::memcpy(ran.y.data(), found.data(), found.size());
    return ran;
}

TEST_F(TimedSim, ReplaysWhatWasRecorded) {
    EXPECT_THAT(run_add(target_, recording_settings(), {1, 2}, 10).y,
                ::testing::ElementsAre(11, 12));
    EXPECT_THAT(run_add(target_, recording_settings(), {3, 4}, 10).y,
                ::testing::ElementsAre(13, 14));
    EXPECT_THAT(run_add(target_, timed(), {3, 4}, 10).y, ::testing::ElementsAre(13, 14));
    EXPECT_THAT(run_add(target_, timed(), {1, 2}, 10).y, ::testing::ElementsAre(11, 12));
}

TEST_F(TimedSim, NamesWhatWasNotRecorded) {
    (void)run_add(target_, recording_settings(), {1, 2}, 10);
    const Ran other_inputs = run_add(target_, timed(), {1, 3}, 10);
    EXPECT_EQ(other_inputs.code, kLeatNotFound);
    EXPECT_THAT(other_inputs.text, HasSubstr("these inputs were not recorded"));
    EXPECT_THAT(other_inputs.y, ::testing::ElementsAre(0, 0));
    const Ran other_shape = run_add(target_, timed(), {1, 2, 3, 4}, 10, 2);
    EXPECT_EQ(other_shape.code, kLeatNotFound);
    EXPECT_THAT(other_shape.text, HasSubstr("these shapes were not recorded"));
    const Ran other_graph = run_add(target_, timed(), {1, 2}, 11);
    EXPECT_EQ(other_graph.code, kLeatNotFound);
    EXPECT_THAT(other_graph.text, HasSubstr("the graph was not recorded"));
}

TEST_F(TimedSim, KeepsARunOnce) {
    (void)run_add(target_, recording_settings(), {1, 2}, 10);
    const std::string once = contents_of(recording());
    (void)run_add(target_, recording_settings(), {1, 2}, 10);
    EXPECT_EQ(contents_of(recording()), once);
}

TEST_F(TimedSim, RefusesADamagedRecording) {
    (void)run_add(target_, recording_settings(), {1, 2}, 10);
    const std::string whole = contents_of(recording());
    for (size_t i = 0; i < whole.size(); i += 7) {
        std::string damaged = whole;
        damaged[i] = char(damaged[i] ^ 1);
        write_contents(recording(), damaged);
        const bool is_in_key = i >= 8 && i < 32;  // another run's then, which nobody asks for
        EXPECT_EQ(refusal(target_, timed()).empty(), is_in_key) << "byte " << i;
    }
    write_contents(recording(), whole.substr(0, whole.size() - 1));
    EXPECT_THAT(refusal(target_, timed()), HasSubstr("no whole run at byte 0"));
    EXPECT_THAT(refusal(target_, recording_settings()), HasSubstr("no whole run at byte 0"));
}

TEST_F(TimedSim, MayHaveTheHostsMemory) {
    record_nothing();
    PacedDevice apart(target_, timed());
    EXPECT_EQ(apart.device(0).links[0]->is_mappable, 0);
    EXPECT_EQ(apart.device(0).domains[0]->is_mappable, 0);
    PacedDevice shared(target_, timed({{"host_memory", "1"}}));
    EXPECT_EQ(shared.device(0).links[0]->is_mappable, 1);
    EXPECT_EQ(shared.device(0).domains[0]->is_mappable, 1);
}

TEST_F(TimedSim, RefusesSettingsThatContradict) {
    EXPECT_THAT(refusal(target_, {{"mode", "timed"}}), HasSubstr("setting 'replay'"));
    EXPECT_THAT(refusal(target_, {{"replay", "x"}}), HasSubstr("setting 'replay'"));
    EXPECT_THAT(refusal(target_, timed()), HasSubstr(recording()));
    record_nothing();
    EXPECT_THAT(refusal(target_, timed({{"record", "x"}})), HasSubstr("setting 'record'"));
    EXPECT_THAT(refusal(target_, {{"mode", "fast"}}), HasSubstr("'timed'"));
    EXPECT_THAT(refusal(target_, {{"flops_per_s", "0"}}), HasSubstr("setting 'flops_per_s'"));
    EXPECT_THAT(refusal(target_, {{"devices", "2"}, {"flops_per_s", "1,2,3"}}),
                HasSubstr("one for each of 2 devices"));
    EXPECT_THAT(refusal(target_, {{"link", "half"}}), HasSubstr("'duplex'"));
    EXPECT_THAT(refusal(target_, {{"time_scale", "2"}, {"median_op_us", "5"}}),
                HasSubstr("setting 'median_op_us'"));
}

// Each stays for its 5 ms from the end of the one before, however late threads wake up; and no
// point is reached before its time.
TEST_F(TimedSim, NeverEndsEarlyAndNeverDrifts) {
    record_nothing();
    PacedDevice sim(target_, timed({{"bytes_per_s", "1e6"}}));
    LeatSlab* slab = sim.slab(0, 8192);
    auto sample = plugin::made<LeatClockSample>();
    ASSERT_EQ(sim.context().api().clock_correlation(sim.backend(), 0, &sample, nullptr), kLeatOk);
    const int64_t submitted_ns = monotonic_ns();
    constexpr int kFills = 20;
    std::vector<PacedDevice::Submitted> fills;
    fills.reserve(kFills);
    for (int i = 0; i < kFills; ++i) {
        fills.push_back(sim.fill(0, slab, 5000));
    }
    int64_t end_ticks = 0;
    for (size_t i = 0; i < fills.size(); ++i) {
        ASSERT_EQ(sim.wait(fills[i].point), kLeatOk);
        const int64_t seen_ns = monotonic_ns();
        const auto [begin, end] = fills[i].times->get();
        EXPECT_EQ(end - begin, 5'000'000);
        const int64_t end_ns = sample.host_ns + (end - sample.device_ticks);
        EXPECT_GE(seen_ns + sample.uncertainty_ns, end_ns);
        EXPECT_GE(end_ns, submitted_ns + int64_t(i + 1) * 5'000'000 - sample.uncertainty_ns);
        if (i > 0) {
            EXPECT_EQ(begin, end_ticks);
        }
        end_ticks = end;
    }
}

// Two queues and the link busy for half a second.
TEST_F(TimedSim, WaitsWithoutTheProcessor) {
    record_nothing();
    PacedDevice sim(target_, timed({{"bytes_per_s", "1e6"}, {"link_bytes_per_s", "1e6"}}));
    LeatSlab* slabs[2] = {sim.slab(0, 60000), sim.slab(0, 60000)};
    const int64_t begin_ns = monotonic_ns();
    const int64_t begin_cpu_ns = process_cpu_ns();
    PacedDevice::Submitted last[2];
    for (int i = 0; i < 10; ++i) {
        last[0] = sim.fill(0, slabs[0], 50000);
        last[1] = sim.copy_out(1, slabs[1], 50000);
    }
    EXPECT_EQ(sim.wait(last[0].point), kLeatOk);
    EXPECT_EQ(sim.wait(last[1].point), kLeatOk);
    const int64_t wall_ns = monotonic_ns() - begin_ns;
    EXPECT_GE(wall_ns, 500'000'000);
    EXPECT_LT(process_cpu_ns() - begin_cpu_ns, wall_ns / 4);
}

// A fill of 100 s would hold the test up for as long.
TEST_F(TimedSim, EndsWhatRunsWhenItsDeviceIsLost) {
    record_nothing();
    PacedDevice sim(target_, timed({{"bytes_per_s", "10"}, {"lose_device_at", "2"}}));
    LeatSlab* slab = sim.slab(0, 1000);
    const auto running = sim.fill(0, slab, 1000);
    const auto losing = sim.fill(1, slab, 1000);
    const auto behind = sim.fill(0, slab, 1000);
    EXPECT_EQ(sim.wait(losing.point), kLeatDeviceLost);
    EXPECT_EQ(sim.wait(running.point), kLeatDeviceLost);
    EXPECT_EQ(sim.wait(behind.point), kLeatDeviceLost);
}

// Costs of 1, 4 and 9 units: the median becomes 2 ms, and the links are as much slower.
TEST_F(TimedSim, ScalesTimesByTheMedianOperator) {
    record_nothing();
    PacedDevice sim(target_, timed({{"median_op_us", "2000"}, {"link_latency_us", "5"}}));
    EXPECT_EQ(sim.device(0).links[0]->latency_ns, 5000);
    const LeatDeviceInfo& before = sim.device(0);
    GraphView graph;
    for (const int64_t elements : {int64_t{1}, int64_t{4}, int64_t{9}}) {
        const int32_t x = graph.input("x", kFloat32, {elements});
        const int32_t y = graph.value("y", kFloat32, {elements});
        graph.node("Relu", {x}, {y});
        graph.output(y);
    }
    const std::vector<LeatNodeCapability> rows = capabilities_of(sim.context(), graph);
    EXPECT_EQ(rows[0].cost_ns, 500'000);
    EXPECT_EQ(rows[1].cost_ns, 2'000'000);
    EXPECT_EQ(rows[2].cost_ns, 4'500'000);
    // 4 elements: 32 bytes at 1e10 B/s are 3.2 ns.
    const LeatLinkInfo& link = *sim.device(0).links[0];
    EXPECT_DOUBLE_EQ(link.latency_ns, 5000 * 2e6 / 3.2);
    EXPECT_DOUBLE_EQ(link.bytes_per_s, 5e9 / (2e6 / 3.2));
    EXPECT_EQ(before.links[0]->latency_ns, 5000);  // what was told stays as it was
}

}  // namespace
}  // namespace leat::contract
