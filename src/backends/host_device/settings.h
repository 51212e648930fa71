// Settings of backends as numbers and rows.
#pragma once

#include <cstdint>
#include <string_view>

#include "leat/plugin_backend.h"

namespace leat::host_device {

// The setting as a number >= 0, or `fallback` where it is not given or empty. Throws an Error that
// names it.
int64_t number_setting(const LeatSettings* settings, const char* name, int64_t fallback);
int64_t parse_number(std::string_view text, std::string_view setting);

// A row of LeatBackendApi::setting(). The texts are static.
LeatSettingInfo setting_row(const char* name, const char* value, const char* description);

}  // namespace leat::host_device
