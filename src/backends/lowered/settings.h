// Settings of backends as texts, numbers and rows. An Error names the setting, what it found and
// what it needed.
#pragma once

#include <cstdint>
#include <string_view>

#include "leat/plugin_backend.h"

namespace leat::lowered {

[[noreturn]] void refuse_setting(std::string_view name,
                                 std::string_view found,
                                 std::string_view needed);

// Empty where the setting is not given.
std::string_view text_setting(const LeatSettings* settings, const char* name);

// The setting as a number >= 0, or `fallback` where it is not given or empty.
int64_t number_setting(const LeatSettings* settings, const char* name, int64_t fallback);
int64_t parse_number(std::string_view text, std::string_view setting);

// A row of LeatBackendApi::setting(). The texts are static.
LeatSettingInfo setting_row(const char* name, const char* value, const char* description);

}  // namespace leat::lowered
