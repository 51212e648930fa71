#include "graph/text_lexer.h"

#include <algorithm>

#include "graph/text_lexis.h"

namespace leat::text {
namespace {

int hex_digit(char c) {
    if (c >= '0' && c <= '9') {
        return c - '0';
    }
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

}  // namespace

void Lexer::skip_space() {
    while (position_ < text_.size() &&
           std::string_view(" \t\r\n").find(text_[position_]) != std::string_view::npos) {
        ++position_;
    }
}

bool Lexer::take(std::string_view token) {
    skip_space();
    if (rest().substr(0, token.size()) != token) {
        return false;
    }
    position_ += token.size();
    return true;
}

Status Lexer::expect(std::string_view token) {
    return take(token) ? Status() : error(fmt::format("'{}'", token));
}

bool Lexer::at_end() {
    skip_space();
    return position_ >= text_.size();
}

char Lexer::peek() {
    skip_space();
    return position_ < text_.size() ? text_[position_] : '\0';
}

bool Lexer::take_absent() {
    if (peek() != '_' || name_length(rest()) != 1) {
        return false;
    }
    ++position_;
    return true;
}

Result<std::string> Lexer::name() {
    if (peek() == '"') {
        return quoted_string();
    }
    const size_t length = name_length(rest());
    if (length == 0) {
        return error("a name");
    }
    std::string found(rest().substr(0, length));
    position_ += length;
    return found;
}

Result<char> Lexer::escaped_char() {
    const char escape = position_ < text_.size() ? text_[position_++] : '\0';
    switch (escape) {
        case 'n':
            return '\n';
        case 'r':
            return '\r';
        case 't':
            return '\t';
        case 'x': {
            const std::string_view digits = rest().substr(0, 2);
            const int high = digits.size() == 2 ? hex_digit(digits[0]) : -1;
            const int low = digits.size() == 2 ? hex_digit(digits[1]) : -1;
            if (high < 0 || low < 0) {
                return error("two hexadecimal digits");
            }
            position_ += 2;
            return char(high * 16 + low);
        }
        case '\0':
            return error("an escaped character");
        default:
            return escape;
    }
}

Result<std::string> Lexer::quoted_string() {
    LEAT_RETURN_IF_ERROR(expect("\""));
    std::string out;
    while (position_ < text_.size() && text_[position_] != '"') {
        char c = text_[position_++];
        if (c == '\\') {
            LEAT_ASSIGN_OR_RETURN(c, escaped_char());
        }
        out += c;
    }
    if (position_ >= text_.size()) {
        return error("a closing quote");
    }
    ++position_;
    return out;
}

std::string_view Lexer::scalar() {
    skip_space();
    size_t length = 0;
    while (length < rest().size() &&
           (is_name_char(rest()[length]) || rest()[length] == '-' || rest()[length] == '+')) {
        ++length;
    }
    const std::string_view found = rest().substr(0, length);
    position_ += length;
    return found;
}

std::string_view Lexer::dim() {
    skip_space();
    size_t length = 0;
    while (length < rest().size() && is_dim_char(rest()[length])) {
        ++length;
    }
    const std::string_view found = rest().substr(0, length);
    position_ += length;
    return found;
}

bool Lexer::take_comment_mark() {
    while (position_ < text_.size() && (text_[position_] == ' ' || text_[position_] == '\t')) {
        ++position_;
    }
    if (position_ >= text_.size() || text_[position_] != '#') {
        return false;
    }
    ++position_;
    return true;
}

int Lexer::line() const {
    return 1 + int(std::count(text_.begin(), text_.begin() + std::ptrdiff_t(position_), '\n'));
}

Status Lexer::error(std::string_view needed) const {
    std::string_view found = rest().substr(0, 24);
    found = found.substr(0, found.find('\n'));
    return parse_error("line {} of the graph's text", line())
        .with_found(found.empty() ? "the end" : fmt::format("'{}'", found))
        .with_needed(std::string(needed));
}

}  // namespace leat::text
