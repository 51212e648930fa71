#include "backends/host_device/settings.h"

#include <fmt/core.h>

#include <charconv>

namespace leat::host_device {

int64_t parse_number(std::string_view text, std::string_view setting) {
    int64_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc() || end != text.data() + text.size() || number < 0) {
        plugin::invalid_argument(
            fmt::format("setting '{}': found '{}', needed a number >= 0", setting, text));
    }
    return number;
}

int64_t number_setting(const LeatSettings* settings, const char* name, int64_t fallback) {
    const char* text = plugin::find_setting(settings, name);
    return text == nullptr || *text == '\0' ? fallback : parse_number(text, name);
}

LeatSettingInfo setting_row(const char* name, const char* value, const char* description) {
    auto row = plugin::made<LeatSettingInfo>();
    row.name = name;
    row.default_value = value;
    row.description = description;
    return row;
}

}  // namespace leat::host_device
