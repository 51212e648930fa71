#include "files.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <sstream>

#include "base/error.h"

namespace leat::bench {

Result<std::string> read_text_file(const std::string& file) {
    std::ifstream stream(file, std::ios::binary);
    if (!stream) {
        return not_found("cannot read '{}': {}", file, std::strerror(errno));
    }
    std::ostringstream text;
    text << stream.rdbuf();
    return text.str();
}

Status write_text_file(const std::string& file, std::string_view text) {
    if (file == "-") {
        std::fwrite(text.data(), 1, text.size(), stdout);
        return Status();
    }
    std::ofstream stream(file, std::ios::binary);
    stream.write(text.data(), std::streamsize(text.size()));
    stream.close();
    if (!stream) {
        return not_found("cannot write '{}': {}", file, std::strerror(errno));
    }
    return Status();
}

}  // namespace leat::bench
