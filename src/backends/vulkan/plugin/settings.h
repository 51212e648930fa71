// What the host may set for the Vulkan backend.
#pragma once

#include <chrono>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "leat/plugin_backend.h"

namespace leat::vulkan {

struct Settings {
    bool is_fast = false;  // as KernelLimits::is_fast
    int64_t submit_budget_ns = 100'000'000;
    bool uses_fences = false;
    bool is_validated = false;
    bool checks_synchronization = false;
    bool checks_on_device = false;
    bool checks_hazards = false;
    bool checks_addresses = false;
    // Copies as if no memory of the device were mapped.
    bool is_always_staged = false;
    // Where compiled kernels are kept for later processes; empty: nowhere. Not set: the host's
    // folder, if it has one.
    std::optional<std::string> cache_folder;
    // Measures which variant of a kernel is the fastest, where that is not known yet.
    bool is_tuned = false;
    // For tests: what a slow, small or failing device would do.
    std::chrono::microseconds delay{0};  // before each submission's work
    int64_t memory_limit_bytes = 0;      // of all slabs of a device; 0: none
    int64_t allocation_limit_bytes = std::numeric_limits<int64_t>::max();  // in a slab
    int64_t lost_submission = 0;     // number of the submission that loses its device; 0: none
    bool emulates_matrices = false;  // as if the device had some of 16 x 16 x 16
    std::vector<std::string> lacked_features;  // names that remove_feature() knows
};

// Throws an Error that names the setting, what was found and what is needed.
Settings parse_settings(const LeatSettings* settings);

// The rows that the host may ask for; null beyond the last.
const LeatSettingInfo* setting_row(int32_t index);

}  // namespace leat::vulkan
