// Text without the blanks around it.
#pragma once

#include <string_view>

namespace leat {

// Blanks are those of the C locale, line ends included.
inline std::string_view trimmed(std::string_view text) {
    constexpr std::string_view kBlanks = " \t\r\n\v\f";
    const size_t begin = text.find_first_not_of(kBlanks);
    if (begin == std::string_view::npos) {
        return {};
    }
    return text.substr(begin, text.find_last_not_of(kBlanks) - begin + 1);
}

}  // namespace leat
