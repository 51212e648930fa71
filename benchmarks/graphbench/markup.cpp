#include "markup.h"

#include <algorithm>
#include <cstdint>

namespace leat::bench {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";  // U+FFFD
constexpr std::string_view kEllipsis = "\xE2\x80\xA6";     // U+2026

bool is_continuation(char c) {
    return (uint8_t(c) & 0xC0U) == 0x80U;
}

bool is_control(char c) {
    return uint8_t(c) < 0x20 || c == 0x7F;
}

// Bytes of the character of UTF-8 that begins the text; 0: it is none, or XML has none such.
size_t character_length(std::string_view text) {
    const auto first = uint8_t(text[0]);
    if (first < 0x80) {
        return is_control(text[0]) && first != '\t' && first != '\n' ? 0 : 1;
    }
    const size_t length = first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
    if (first < 0xC0 || first > 0xF4 || text.size() < length) {
        return 0;
    }
    uint32_t code = first & (0xFFU >> (length + 1));
    for (const char c : text.substr(1, length - 1)) {
        if (!is_continuation(c)) {
            return 0;
        }
        code = code << 6 | (uint8_t(c) & 0x3FU);
    }
    constexpr uint32_t kLeast[] = {0x80, 0x800, 0x10000};
    const bool is_surrogate = code >= 0xD800 && code < 0xE000;
    const bool is_no_character = code == 0xFFFE || code == 0xFFFF || code > 0x10FFFF;
    return code < kLeast[length - 2] || is_surrogate || is_no_character ? 0 : length;
}

std::string_view entity_of(char c) {
    switch (c) {
        case '<':
            return "&lt;";
        case '>':
            return "&gt;";
        case '&':
            return "&amp;";
        case '"':
            return "&quot;";
        default:
            return {};
    }
}

}  // namespace

std::string xml_escaped(std::string_view text) {
    std::string result;
    while (!text.empty()) {
        const size_t length = character_length(text);
        const std::string_view entity = entity_of(text[0]);
        result += !entity.empty() ? entity : length > 0 ? text.substr(0, length) : kReplacement;
        text.remove_prefix(std::max<size_t>(length, 1));
    }
    return result;
}

std::string dot_escaped(std::string_view text) {
    std::string result;
    for (const char c : text) {
        if (c == '"' || c == '\\') {
            result += '\\';
        }
        result += is_control(c) ? ' ' : c;
    }
    return result;
}

std::string shortened(std::string_view text, size_t max_characters) {
    size_t characters = 0;
    size_t last = 0;  // where the last character that fits begins
    for (size_t i = 0; i < text.size(); ++i) {
        if (is_continuation(text[i])) {
            continue;
        }
        if (++characters > max_characters) {
            return std::string(text.substr(0, last)) + std::string(kEllipsis);
        }
        last = characters == max_characters ? i : last;
    }
    return std::string(text);
}

}  // namespace leat::bench
