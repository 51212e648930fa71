#include "files.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <span>
#include <system_error>

#include "base/error.h"
#include "base/files/new_file.h"
#include "base/files/text_file.h"
#include "output.h"

namespace leat::bench {
namespace {

Status cannot_write(const std::string& file) {
    return not_found("cannot write '{}': {}", file, std::strerror(errno));
}

}  // namespace

Result<std::string> read_text_file(const std::string& file) {
    errno = 0;
    const OpenTextFile opened(file);
    const int error = errno;  // of opening: what is not open cannot be read, which says less
    std::optional<std::string> text = opened.read_all();
    if (!text) {
        return not_found("cannot read '{}': {}", file, std::strerror(error != 0 ? error : errno));
    }
    return *std::move(text);
}

Status write_text_file(const std::string& file, std::string_view text) {
    if (file == "-") {
        print_text(text);
        return {};
    }
    return write_whole_file(file, std::as_bytes(std::span(text))).with_file(file);
}

Status check_writable(const std::string& file) {
    if (file == "-") {
        return {};
    }
    struct stat found = {};
    const bool is_there = ::stat(file.c_str(), &found) == 0;
    if (is_there && (S_ISCHR(found.st_mode) || S_ISFIFO(found.st_mode))) {
        // To open and close a pipe would be its end to who reads it.
        return ::access(file.c_str(), W_OK) == 0 ? Status() : cannot_write(file);
    }
    return Status(NewFile(file).status()).with_file(file);
}

Status check_writable_folder(const std::string& folder) {
    std::error_code error;
    std::filesystem::path nearest = std::filesystem::absolute(folder, error);
    if (error) {
        return not_found("cannot write '{}': the current folder is gone", folder);
    }
    while (!std::filesystem::exists(nearest, error) && nearest.has_relative_path()) {
        nearest = nearest.parent_path();
    }
    if (!std::filesystem::is_directory(nearest, error)) {
        errno = ENOTDIR;
        return cannot_write(folder);
    }
    return ::access(nearest.c_str(), W_OK | X_OK) == 0 ? Status() : cannot_write(folder);
}

}  // namespace leat::bench
