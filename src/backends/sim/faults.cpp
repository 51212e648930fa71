#include "backends/sim/faults.h"

#include <fmt/core.h>

#include "backends/lowered/settings.h"

namespace leat::sim {

using lowered::number_setting;
using lowered::parse_number;

Faults::Faults(const LeatSettings* settings)
    : of_submissions_{std::chrono::microseconds(number_setting(settings, "delay_us", 0)),
                      number_setting(settings, "lose_device_at", 0),
                      number_setting(settings, "fail_submission", 0),
                      uint64_t(number_setting(settings, "delay_seed", 0))},
      memory_limit_bytes_(number_setting(settings, "memory_limit_bytes", 0)) {
    const std::string_view call = lowered::text_setting(settings, "fail_call");
    const size_t colon = call.find(':');
    if (call.empty()) {
        return;
    }
    if (colon == std::string_view::npos) {
        lowered::refuse_setting("fail_call", call, "ENTRY:NUMBER");
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
