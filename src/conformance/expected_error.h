// expected_error.txt beside a model: the test has to end in an error, and each line is a regular
// expression (ECMAScript's syntax, case ignored) that its message has to match.
#pragma once

#include <filesystem>
#include <optional>
#include <regex>
#include <string>
#include <vector>

#include "leat/status.h"

namespace leat {

class ExpectedError {
  public:
    // Nothing where the folder has no such file. Errors (kParse): a line that is no regular
    // expression, or no line at all.
    static Result<std::optional<ExpectedError>> read(const std::filesystem::path& folder);

    // "'alpha', 'LeakyRelu'".
    const std::string& patterns() const { return quoted_; }
    // The first pattern that the error of a test in `folder` does not match, in quotes; empty where
    // all match.
    std::string unmatched(const Status& error, const std::filesystem::path& folder) const;

  private:
    struct Pattern {
        std::string text;
        std::regex expression;
    };
    std::vector<Pattern> patterns_;
    std::string quoted_;
};

// What patterns are searched in: the message without its file, without paths below the folder and
// without the folder's own name in quotes. A test is called after its fault, so that these would
// match whatever the error says.
std::string matched_text(const Status& error, const std::filesystem::path& folder);

}  // namespace leat
