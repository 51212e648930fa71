// What printer and parser must agree on: which characters a name may have without quotes.
#pragma once

#include <string>
#include <string_view>

namespace leat::text {

inline bool is_name_char(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '.' || c == '/' || c == '$';
}

// Length of the unquoted name at the start of `text`; ':' and '-' count only inside of one.
inline size_t name_length(std::string_view text) {
    size_t length = 0;
    while (length < text.size()) {
        const char c = text[length];
        const bool joins = (c == ':' || c == '-') && length > 0 && length + 1 < text.size() &&
                           (is_name_char(text[length + 1]) || text[length + 1] == c);
        if (!is_name_char(c) && !joins) {
            break;
        }
        ++length;
    }
    return length;
}

// Names of extents may be sums and products too: "past+seq".
inline bool is_dim_char(char c) {
    return is_name_char(c) || c == '+' || c == '*' || c == '(' || c == ')';
}

// "text" with \" \\ \n \r \t and \xNN escapes.
std::string in_quotes(std::string_view text);
// The name as it is, or quoted where it would not be read back.
std::string as_name(std::string_view name);

}  // namespace leat::text
