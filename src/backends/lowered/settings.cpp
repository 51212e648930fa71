#include "backends/lowered/settings.h"

#include <fmt/core.h>

#include <optional>

#include "base/files/text_file.h"

namespace leat::lowered {

void refuse_setting(std::string_view name, std::string_view found, std::string_view needed) {
    plugin::invalid_argument(
        fmt::format("setting '{}': found '{}', needed {}", name, found, needed));
}

std::string_view text_setting(const LeatSettings* settings, const char* name) {
    const char* text = plugin::find_setting(settings, name);
    return text == nullptr ? "" : text;
}

int64_t parse_number(std::string_view text, std::string_view setting) {
    const std::optional<int64_t> number = parse_integer(text);
    if (!number || *number < 0) {
        refuse_setting(setting, text, "a number >= 0");
    }
    return *number;
}

int64_t number_setting(const LeatSettings* settings, const char* name, int64_t fallback) {
    const std::string_view text = text_setting(settings, name);
    return text.empty() ? fallback : parse_number(text, name);
}

LeatSettingInfo setting_row(const char* name, const char* value, const char* description) {
    auto row = plugin::made<LeatSettingInfo>();
    row.name = name;
    row.default_value = value;
    row.description = description;
    return row;
}

}  // namespace leat::lowered
