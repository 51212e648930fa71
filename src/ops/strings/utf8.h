// Characters of UTF-8: RFC 3629, without surrogates, each in its shortest form.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace leat {

struct Utf8Character {
    size_t bytes = 0;  // 0: there is no character
    char32_t code = 0;
};

// The one at the start of `text`.
inline Utf8Character first_utf8_character(std::string_view text) {
    const auto byte = [&text](size_t i) { return i < text.size() ? uint8_t(text[i]) : uint8_t{0}; };
    if (text.empty()) {
        return {};
    }
    const uint8_t lead = byte(0);
    if (lead < 0x80) {
        return {1, lead};
    }
    if (lead < 0xc2 || lead > 0xf4) {
        return {};
    }
    const size_t bytes = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
    constexpr char32_t kLeast[] = {0, 0, 0x80, 0x800, 0x10000};
    char32_t code = char32_t(lead) & (0x7fU >> bytes);
    for (size_t i = 1; i < bytes; ++i) {
        if ((byte(i) & 0xc0U) != 0x80) {
            return {};
        }
        code = code << 6U | (byte(i) & 0x3fU);
    }
    const bool is_surrogate = code >= 0xd800 && code < 0xe000;
    const bool is_character = code >= kLeast[bytes] && code < 0x110000 && !is_surrogate;
    return is_character ? Utf8Character{bytes, code} : Utf8Character{};
}

}  // namespace leat
