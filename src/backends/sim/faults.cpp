#include "backends/sim/faults.h"

#include <fmt/core.h>

#include "backends/host_device/settings.h"

namespace leat::sim {

using host_device::number_setting;
using host_device::parse_number;

Faults::Faults(const LeatSettings* settings)
    : of_submissions_{std::chrono::microseconds(number_setting(settings, "delay_us", 0)),
                      number_setting(settings, "lose_device_at", 0),
                      number_setting(settings, "fail_submission", 0),
                      uint64_t(number_setting(settings, "delay_seed", 0))},
      memory_limit_bytes_(number_setting(settings, "memory_limit_bytes", 0)) {
    const char* found = plugin::find_setting(settings, "fail_call");
    const std::string_view call = found == nullptr ? "" : found;
    const size_t colon = call.find(':');
    if (call.empty()) {
        return;
    }
    if (colon == std::string_view::npos) {
        plugin::invalid_argument(
            fmt::format("setting 'fail_call': found '{}', needed ENTRY:NUMBER", call));
    }
    failing_entry_ = std::string(call.substr(0, colon));
    failing_call_ = parse_number(call.substr(colon + 1), "fail_call");
}

void Faults::enter(const char* entry) {
    if (failing_entry_.empty() || failing_entry_ != entry) {
        return;
    }
    const int64_t call = calls_.fetch_add(1) + 1;
    if (failing_call_ == 0 || call == failing_call_) {
        throw plugin::Error(kLeatInternal,
                            fmt::format("planned fault: call {} of {}", call, entry));
    }
}

}  // namespace leat::sim
