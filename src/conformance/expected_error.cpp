#include "conformance/expected_error.h"

#include <algorithm>
#include <locale>
#include <system_error>
#include <utility>

#include "base/error.h"
#include "base/files/text_file.h"
#include "base/trimmed.h"

namespace leat {
namespace {

namespace fs = std::filesystem;

// libstdc++ matches by recursion, some hundred bytes of stack for each character.
constexpr size_t kMostBytes = 16384;

void erase_all(std::string& text, const std::string& what) {
    for (size_t at = text.find(what); at != std::string::npos; at = text.find(what, at)) {
        text.erase(at, what.size());
    }
}

// "FOLDER/" and what follows it, up to a blank, a quote or punctuation that ends it.
void erase_paths(std::string& text, const std::string& folder) {
    const std::string begin = folder + "/";
    for (size_t at = text.find(begin); at != std::string::npos; at = text.find(begin, at)) {
        const size_t end = text.find_first_of(" '\";:,()", at + begin.size());
        text.erase(at, std::min(end, text.size()) - at);
    }
}

// Ways in which a message may write the folder, the longest first: one may be part of another.
std::vector<std::string> spellings(const fs::path& folder) {
    std::error_code error;
    std::vector<std::string> all;
    for (const fs::path& path : {folder, folder.lexically_normal(), fs::absolute(folder, error),
                                 fs::weakly_canonical(folder, error)}) {
        std::string text = path.string();
        text.resize(text.find_last_not_of('/') + 1);
        if (!text.empty() && text != ".") {
            all.push_back(std::move(text));
        }
    }
    std::sort(all.begin(), all.end(), [](const std::string& a, const std::string& b) {
        return a.size() != b.size() ? a.size() > b.size() : a < b;
    });
    return all;
}

}  // namespace

std::string matched_text(const Status& error, const fs::path& folder) {
    std::string text = Status(error.code(), error.text())
                           .with_node(error.node())
                           .with_found(error.found())
                           .with_needed(error.needed())
                           .with_hint(error.hint())
                           .message();
    const std::vector<std::string> folders = spellings(folder);
    for (const std::string& spelling : folders) {
        erase_paths(text, spelling);
    }
    if (!folders.empty()) {
        const std::string name = fs::path(folders.front()).filename().string();
        erase_all(text, "'" + name + "'");
    }
    return text;
}

Result<std::optional<ExpectedError>> ExpectedError::read(const fs::path& folder) {
    const std::string file = (folder / "expected_error.txt").string();
    const std::optional<std::string> text = OpenTextFile(file).read_all();
    if (!text) {
        return std::optional<ExpectedError>();
    }
    ExpectedError expected;
    for (const std::string& line : split(*text, '\n')) {
        const std::string pattern(trimmed(line));
        if (pattern.empty()) {
            continue;
        }
        try {
            std::regex expression;
            expression.imbue(std::locale::classic());
            expression.assign(pattern, std::regex::ECMAScript | std::regex::icase);
            expected.patterns_.push_back({pattern, std::move(expression)});
        } catch (const std::regex_error& failure) {
            return parse_error("'{}' is no regular expression: {}", pattern, failure.what())
                .with_file(file);
        }
        expected.quoted_.append(expected.quoted_.empty() ? "'" : ", '").append(pattern).append("'");
    }
    if (expected.patterns_.empty()) {
        return parse_error("the file has no pattern")
            .with_file(file)
            .with_needed("a regular expression in each line");
    }
    return std::optional(std::move(expected));
}

std::string ExpectedError::unmatched(const Status& error, const fs::path& folder) const {
    std::string text = matched_text(error, folder);
    text.resize(std::min(text.size(), kMostBytes));
    for (const Pattern& pattern : patterns_) {
        try {
            if (!std::regex_search(text, pattern.expression)) {
                return "'" + pattern.text + "'";
            }
        } catch (const std::regex_error& failure) {  // too much work
            return fmt::format("'{}' ({})", pattern.text, failure.what());
        }
    }
    return {};
}

}  // namespace leat
