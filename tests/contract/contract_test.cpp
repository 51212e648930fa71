// The contract suite on the backends of this build, and on copies of sim that break the contract:
// each breach must be found by the check that is about it.
#include "contract/contract.h"

#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <ostream>
#include <utility>

#include "backends/host_device/kernel_blob.h"
#include "backends/plugin/loaded_plugin.h"
#include "contract/builtin_plugins.h"
#include "support/scratch_folder.h"

namespace leat::contract {
namespace {

std::string plugin_file(const char* variable, const char* file) {
    const char* folder = std::getenv(variable);
    return fmt::format("{}/{}", folder == nullptr ? "." : folder, file);
}

std::string double_kernel() {
    host_device::KernelBlob blob{};
    std::memcpy(blob.magic, host_device::kKernelMagic, sizeof(blob.magic));
    blob.run = [](const LeatNodeView*, int32_t, const LeatTensorView* const* inputs, int32_t,
                  LeatTensorView* const* outputs) -> LeatCode {
        const auto* from = static_cast<const float*>(inputs[0]->data);
        auto* to = static_cast<float*>(outputs[0]->data);
        for (int64_t i = 0; i < inputs[0]->bytes / int64_t(sizeof(float)); ++i) {
            to[i] = 2 * from[i];
        }
        return kLeatOk;
    };
    return {reinterpret_cast<const char*>(&blob), sizeof(blob)};
}

Target sim_target(std::string file) {
    Target target;
    target.file = std::move(file);
    target.slow = {{"delay_us", "20000"}};
    target.losing = {{"lose_device_at", "3"}};
    target.small_memory = {{"memory_limit_bytes", "1048576"}};
    target.double_kernel = double_kernel();
    return target;
}

// `settings`: how its memory and its points work. Every recording is proved.
Target vulkan_target(BackendSettings settings) {
    Target target;
    target.file = plugin_file("LEAT_BUILT_BACKENDS", "leat_vulkan.so");
    target.settings = std::move(settings);
    target.settings["check_hazards"] = "1";
    target.slow = {{"delay_us", "20000"}};
    target.losing = {{"lose_device_at", "3"}};
    target.small_memory = {{"memory_limit_bytes", "1048576"}};
    target.double_kernel = "void run(uint i) { write_out0(i, 2.0 * read_in0(i)); }";
    return target;
}

// Why the Vulkan backend cannot be tested here; empty if it can.
std::string vulkan_absence() {
    const std::string file = plugin_file("LEAT_BUILT_BACKENDS", "leat_vulkan.so");
    if (::access(file.c_str(), F_OK) != 0) {
        return "built without Vulkan";
    }
    const HostServices host;
    auto opened = LoadedPlugin::open(file, host);
    if (!opened.ok()) {
        return opened.error().message();
    }
    const Status started = (*opened)->start({});
    return started.ok() ? std::string() : started.message();
}

std::vector<Check> all_checks() {
    std::vector<Check> checks;
    for (const auto& group : {queue_checks(), error_checks(), compile_checks(), life_checks()}) {
        checks.insert(checks.end(), group.begin(), group.end());
    }
    return checks;
}

Check find_check(std::string_view name) {
    for (const Check& check : all_checks()) {
        if (check.name == name) {
            return check;
        }
    }
    ADD_FAILURE() << "no check is called " << name;
    return {};
}

class Contract : public ::testing::TestWithParam<Check> {};

// What sim does not implement; nothing else may be missing.
bool is_missing_on_sim(std::string_view check) {
    return check == "device_description" || check == "export";
}

TEST_P(Contract, HoldsOnSim) {
    const Report report =
        run_check(GetParam(), sim_target(plugin_file("LEAT_BUILT_BACKENDS", "leat_sim.so")));
    EXPECT_EQ(report.verdict,
              is_missing_on_sim(GetParam().name) ? Verdict::kUnimplemented : Verdict::kPassed)
        << report.reason;
}

// In a mode that keeps time the link is the only way to a slab: none is mapped.
void expect_holds_on_paced_sim(const Check& check, const Target& target) {
    const Report report = run_check(check, target);
    const bool may_be_missing = is_missing_on_sim(check.name) || check.name == "signal_after_fill";
    EXPECT_EQ(report.verdict, may_be_missing ? Verdict::kUnimplemented : Verdict::kPassed)
        << report.reason;
}

TEST_P(Contract, HoldsOnSimTimed) {
    const ScratchFolder folder;
    const std::string runs = (folder.path() / "runs").string();
    Target target = sim_target(plugin_file("LEAT_BUILT_BACKENDS", "leat_sim.so"));
    target.settings = {{"record", runs}};
    (void)run_check(GetParam(), target);
    target.settings = {{"mode", "timed"}, {"replay", runs}, {"link", "exclusive"}};
    expect_holds_on_paced_sim(GetParam(), target);
}

TEST_P(Contract, HoldsOnSimVirtual) {
    Target target = sim_target(plugin_file("LEAT_BUILT_BACKENDS", "leat_sim.so"));
    target.settings = {{"mode", "virtual"}};
    expect_holds_on_paced_sim(GetParam(), target);
}

TEST_P(Contract, HoldsOnSimVirtualWithSeveralDevices) {
    Target target = sim_target(plugin_file("LEAT_BUILT_BACKENDS", "leat_sim.so"));
    target.settings = {
        {"mode", "virtual"}, {"devices", "3"}, {"compute_queues", "2"}, {"link", "exclusive"}};
    expect_holds_on_paced_sim(GetParam(), target);
}

// What a real device on the host cannot be asked for: faults that only sim plans, handles of memory
// that the operating system has not made, and what the host knows itself.
void expect_holds_on_builtin(const Check& check, std::string_view backend) {
    constexpr std::string_view kUnimplemented[] = {
        "cancel",              // it cannot be made slow, so nothing is there to cancel
        "device_description",  // the host describes itself
        "device_lost",         // the host is not lost
        "export",              // its memory has no handle
    };
    Target target;
    target.table = find_builtin_plugin(backend);
    ASSERT_NE(target.table, nullptr);
    target.small_memory = {{"memory_limit_bytes", "1048576"}};
    target.double_kernel = double_kernel();
    const Report report = run_check(check, target);
    const bool may_be_missing = std::find(std::begin(kUnimplemented), std::end(kUnimplemented),
                                          check.name) != std::end(kUnimplemented);
    EXPECT_EQ(report.verdict, may_be_missing ? Verdict::kUnimplemented : Verdict::kPassed)
        << report.reason;
}

TEST_P(Contract, HoldsOnCpu) {
    expect_holds_on_builtin(GetParam(), "cpu");
}

TEST_P(Contract, HoldsOnReference) {
    expect_holds_on_builtin(GetParam(), "reference");
}

TEST_P(Contract, IsUnimplementedOnNullAndNeverFails) {
    Target target;
    target.file = plugin_file("LEAT_BUILT_BACKENDS", "leat_null.so");
    const Report report = run_check(GetParam(), target);
    EXPECT_EQ(report.verdict, Verdict::kUnimplemented) << report.reason;
    EXPECT_FALSE(report.reason.empty());
}

// What the Vulkan backend does not implement; nothing else may be missing.
bool is_missing_on_vulkan(std::string_view check) {
    constexpr std::string_view kMissing[] = {"data_dependent_size", "export", "operand_steps",
                                             "preprocess"};
    return std::find(std::begin(kMissing), std::end(kMissing), check) != std::end(kMissing);
}

void expect_holds_on_vulkan(const Check& check, const Target& target) {
    static const std::string kAbsence = vulkan_absence();
    if (!kAbsence.empty()) {
        GTEST_SKIP() << kAbsence;
    }
    const Report report = run_check(check, target);
    EXPECT_EQ(report.verdict,
              is_missing_on_vulkan(check.name) ? Verdict::kUnimplemented : Verdict::kPassed)
        << report.reason;
}

TEST_P(Contract, HoldsOnVulkan) {
    expect_holds_on_vulkan(GetParam(), vulkan_target({}));
}

// As on a device with memory of its own: no slab is mapped, everything is copied by commands.
TEST_P(Contract, HoldsOnVulkanWithStaging) {
    // A fill is seen there through a mapping.
    if (GetParam().name == "signal_after_fill") {
        GTEST_SKIP() << "no slab is mapped";
    }
    expect_holds_on_vulkan(GetParam(), vulkan_target({{"staging", "always"}}));
}

TEST_P(Contract, HoldsOnVulkanWithFences) {
    expect_holds_on_vulkan(GetParam(), vulkan_target({{"fence_mode", "1"}}));
}

INSTANTIATE_TEST_SUITE_P(Checks, Contract, ::testing::ValuesIn(all_checks()), [](const auto& test) {
    return std::string(test.param.name);
});

TEST(LoadedPlugin, IsBusyWhileASlabLives) {
    const HostServices host;
    const std::string file = plugin_file("LEAT_BUILT_BACKENDS", "leat_sim.so");
    auto opened = LoadedPlugin::open(file, host);
    ASSERT_TRUE(opened.ok()) << opened.error().message();
    LoadedPlugin& plugin = **opened;
    ASSERT_TRUE(plugin.start({}).ok());
    LeatBackend* backend = plugin.backend();
    const int32_t domain = plugin.api().device(backend, 0)->domains[0]->domain;
    LeatSlab* slab = nullptr;
    PluginError error;
    ASSERT_EQ(plugin.api().allocate_slab(backend, domain, 64, &slab, error.get()), kLeatOk);
    const Status busy = plugin.unload();
    EXPECT_EQ(busy.code(), StatusCode::kBusy);
    EXPECT_THAT(busy.message(), ::testing::HasSubstr("1 slabs, 0 executables"));
    plugin.api().free_slab(backend, slab);  // nothing has changed
    EXPECT_TRUE(plugin.unload().ok());
    EXPECT_EQ(::dlopen(file.c_str(), RTLD_NOLOAD | RTLD_NOW), nullptr);
}

struct Breach {
    const char* plant;
    const char* check;
};
// For messages of the test framework, which would print bytes.
// NOLINTNEXTLINE(readability-identifier-naming): the framework's name
void PrintTo(const Breach& breach, std::ostream* out) {
    *out << breach.plant << ", to be found by " << breach.check;
}

class PlantedBreach : public ::testing::TestWithParam<Breach> {};

TEST_P(PlantedBreach, IsFound) {
    Target target = sim_target(plugin_file("LEAT_FAULTY_FOLDER", "leat_sim_faulty.so"));
    const Check check = find_check(GetParam().check);
    EXPECT_EQ(run_check(check, target).verdict, Verdict::kPassed) << "without the breach";
    target.settings["plant"] = GetParam().plant;
    EXPECT_EQ(run_check(check, target).verdict, Verdict::kFailed);
}

INSTANTIATE_TEST_SUITE_P(Plants,
                         PlantedBreach,
                         ::testing::Values(Breach{"signals_early", "signal_after_copy"},
                                           Breach{"ignores_waits", "cross_queue_waits"},
                                           Breach{"reorders", "queue_order"},
                                           Breach{"runs_poisoned", "poison"},
                                           Breach{"loss_without_error", "device_lost"},
                                           Breach{"writes_outside", "stays_in_range"},
                                           Breach{"reads_arguments_late", "arguments_are_read"},
                                           Breach{"blocks_in_submit", "returns_before_waits"},
                                           Breach{"callback_on_caller", "callback_thread"},
                                           Breach{"callback_twice", "callback_once"},
                                           Breach{"callback_early", "callback_after_signal"},
                                           Breach{"ignores_cancel", "cancel"},
                                           Breach{"allocates_in_execute", "no_memory_in_execute"},
                                           Breach{"wrong_actual_size", "data_dependent_size"},
                                           Breach{"ends_inputs_early", "operand_steps"},
                                           Breach{"leaks_thread", "shutdown_joins_threads"}),
                         [](const auto& test) { return std::string(test.param.plant); });

}  // namespace
}  // namespace leat::contract
