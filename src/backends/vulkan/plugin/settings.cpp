#include "backends/vulkan/plugin/settings.h"

#include <fmt/core.h>

#include <algorithm>
#include <iterator>
#include <limits>
#include <string_view>

#include "backends/lowered/settings.h"
#include "backends/vulkan/shader/shader_features.h"

namespace leat::vulkan {
namespace {

using lowered::number_setting;
using lowered::refuse_setting;
using lowered::text_setting;

constexpr int64_t kNsPerMs = 1'000'000;

// True for the second of two choices; the first is the default.
bool is_second(const LeatSettings* settings,
               const char* name,
               std::string_view first,
               std::string_view second) {
    const std::string_view text = text_setting(settings, name);
    if (!text.empty() && text != first && text != second) {
        refuse_setting(name, text, fmt::format("{} or {}", first, second));
    }
    return text == second;
}

bool is_on(const LeatSettings* settings, const char* name) {
    return is_second(settings, name, "0", "1");
}

void parse_validation(const LeatSettings* settings, Settings& parsed) {
    const std::string_view text = text_setting(settings, "validation");
    if (text.empty() || text == "off") {
        return;
    }
    parsed.is_validated = true;
    parsed.checks_synchronization = text == "synchronization";
    parsed.checks_on_device = text == "device";
    if (parsed.checks_on_device) {
        parsed.uses_fences = true;
    } else if (text != "on" && !parsed.checks_synchronization) {
        refuse_setting("validation", text, "off, on, synchronization or device");
    }
}

std::vector<std::string> parse_lacked_features(const LeatSettings* settings) {
    std::vector<std::string> names;
    std::string_view rest = text_setting(settings, "lack_features");
    while (!rest.empty()) {
        const size_t end = std::min(rest.find(','), rest.size());
        KernelLimits limits;
        if (!remove_feature(rest.substr(0, end), limits)) {
            refuse_setting("lack_features", rest,
                           "shaderFloat16, shaderFloat64, shaderInt8, ... and commas");
        }
        names.emplace_back(rest.substr(0, end));
        rest.remove_prefix(std::min(end + 1, rest.size()));
    }
    return names;
}

}  // namespace

Settings parse_settings(const LeatSettings* settings) {
    Settings parsed;
    parsed.is_fast = is_second(settings, "precision", "exact", "fast");
    parsed.submit_budget_ns = number_setting(settings, "submit_budget_ms", 100) * kNsPerMs;
    if (parsed.submit_budget_ns == 0) {
        refuse_setting("submit_budget_ms", "0", "a number > 0");
    }
    parsed.uses_fences = is_on(settings, "fence_mode");
    parse_validation(settings, parsed);
    parsed.is_tuned = is_on(settings, "tune");
    parsed.checks_hazards = is_on(settings, "check_hazards");
    parsed.checks_addresses = is_on(settings, "check_addresses");
    parsed.is_always_staged = is_second(settings, "staging", "auto", "always");
    if (const char* folder = plugin::find_setting(settings, "cache_dir"); folder != nullptr) {
        parsed.cache_folder = folder;
    }
    parsed.delay = std::chrono::microseconds(number_setting(settings, "delay_us", 0));
    parsed.memory_limit_bytes = number_setting(settings, "memory_limit_bytes", 0);
    parsed.allocation_limit_bytes =
        number_setting(settings, "allocation_limit_bytes", std::numeric_limits<int64_t>::max());
    parsed.lost_submission = number_setting(settings, "lose_device_at", 0);
    parsed.emulates_matrices = is_on(settings, "emulate_matrices");
    parsed.lacked_features = parse_lacked_features(settings);
    return parsed;
}

const LeatSettingInfo* setting_row(int32_t index) {
    constexpr auto kRow = lowered::setting_row;
    static const LeatSettingInfo kRows[] = {
        kRow("precision", "exact",
             "exact, or fast: products and convolutions of f32 round their operands to f16 where "
             "the device has matrices of these"),
        kRow("submit_budget_ms", "100", "estimated time of a submit, above which a run is divided"),
        kRow("fence_mode", "0", "1: fences instead of timeline semaphores"),
        kRow("validation", "off", "off, on, synchronization or device: what the layer checks"),
        kRow("check_hazards", "0", "1: link proves the barriers of each recording"),
        kRow("check_addresses", "0",
             "1: kernels check what they read and write; a stray is an error"),
        kRow("staging", "auto", "always: copies through staging memory on any device"),
        kRow("cache_dir", nullptr,
             "folder of compiled kernels for later processes; empty: none; not set: the host's"),
        kRow("tune", "0",
             "1: compile measures variants of kernels and keeps the fastest in cache_dir"),
        kRow("delay_us", "0", "for tests: time before each submission's work"),
        kRow("memory_limit_bytes", "", "for tests: slabs beyond it are out of memory"),
        kRow("allocation_limit_bytes", "",
             "for tests: larger slabs are several allocations, as beyond the driver's limit"),
        kRow("lose_device_at", "", "for tests: number of the submission that loses the device"),
        kRow("emulate_matrices", "0",
             "for tests: 1: kernels of cooperative matrices by ordinary instructions"),
        kRow("lack_features", "", "for tests: features of shaders that devices are taken to lack"),
    };
    return index >= 0 && size_t(index) < std::size(kRows) ? &kRows[index] : nullptr;
}

}  // namespace leat::vulkan
