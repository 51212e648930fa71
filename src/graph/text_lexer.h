// Lexer of the graph text form: tokens on demand, with line numbers for messages.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/error.h"

namespace leat::text {

class Lexer {
  public:
    explicit Lexer(std::string_view text) : text_(text) {}

    // Spaces and line ends; a comment is not skipped.
    void skip_space();
    // Takes `token` if it is next.
    bool take(std::string_view token);
    Status expect(std::string_view token);
    bool at_end();
    // The next character after space; 0 at the end.
    char peek();
    int64_t remaining_bytes() const { return int64_t(text_.size() - position_); }

    // A name, quoted or not.
    Result<std::string> name();
    // Takes an unquoted "_", an absent value.
    bool take_absent();
    Result<std::string> quoted_string();
    // Characters of a number or a word such as "true" or "nan".
    std::string_view scalar();
    // Characters of an extent without quotes.
    std::string_view dim();
    // "# name" on the rest of this line; false if there is none.
    bool take_comment_mark();

    Status error(std::string_view needed) const;

  private:
    std::string_view rest() const { return text_.substr(position_); }
    int line() const;
    // What follows a backslash.
    Result<char> escaped_char();

    std::string_view text_;
    size_t position_ = 0;
};

}  // namespace leat::text
