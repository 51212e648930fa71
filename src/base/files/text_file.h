// Reading the small text files of /proc and /sys, and what is in them. Not by streams: they hide a
// failed allocation.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/files/descriptor.h"

namespace leat {

// An open file for reading; closed at the end.
class OpenTextFile {
  public:
    explicit OpenTextFile(const std::string& path)
        : descriptor_(::open(path.c_str(), O_RDONLY | O_CLOEXEC)),
          is_missing_(!descriptor_.is_open() && errno == ENOENT) {}

    // There was no such file.
    bool is_missing() const { return is_missing_; }

    // Nothing if it cannot be read.
    std::optional<std::string> read_all() const {
        std::string text;
        char block[4096];
        for (;;) {
            const ssize_t count = ::read(descriptor_.value(), block, sizeof block);
            if (count == 0) {
                return text;
            }
            if (count > 0) {
                text.append(block, size_t(count));
            } else if (errno != EINTR) {
                return std::nullopt;
            }
        }
    }

  private:
    Descriptor descriptor_;
    bool is_missing_;
};

// The parts between separators; nothing after a separator at the end.
inline std::vector<std::string> split(const std::string& text, char separator) {
    std::vector<std::string> parts;
    for (size_t begin = 0; begin < text.size();) {
        const size_t end = std::min(text.find(separator, begin), text.size());
        parts.push_back(text.substr(begin, end - begin));
        begin = end + 1;
    }
    return parts;
}

// A whole text that is a decimal number, perhaps negative.
inline std::optional<int64_t> parse_integer(std::string_view text) {
    int64_t value = 0;
    const char* end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data(), end, value);
    return error == std::errc() && stop == end ? std::optional(value) : std::nullopt;
}

// All lines; none if the file cannot be read.
inline std::vector<std::string> read_lines(const std::string& path) {
    return split(OpenTextFile(path).read_all().value_or(""), '\n');
}

// Nothing if the file cannot be read, or is empty.
inline std::optional<std::string> read_first_line(const std::string& path) {
    std::optional<std::string> text = OpenTextFile(path).read_all();
    if (!text || text->empty()) {
        return std::nullopt;
    }
    text->resize(std::min(text->find('\n'), text->size()));
    return text;
}

}  // namespace leat
