#include "onnx/external_data.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>

#include "base/error.h"

namespace leat::onnx {
namespace {

Status escapes(std::string_view location, const char* why) {
    return invalid_argument("the location of external data is not allowed: {}", why)
        .with_found(fmt::format("'{}'", location))
        .with_needed("a relative path to a plain file in the model's folder");
}

// Splits at '/', without empty and "." parts. An error for what may leave the folder.
Result<std::vector<std::string>> split_location(std::string_view location) {
    if (location.empty() || location.find('\0') != std::string_view::npos) {
        return escapes(location, "it is no path");
    }
    if (location.front() == '/') {
        return escapes(location, "it is absolute");
    }
    std::vector<std::string> parts;
    for (size_t begin = 0; begin <= location.size();) {
        const size_t end = std::min(location.find('/', begin), location.size());
        const std::string_view part = location.substr(begin, end - begin);
        if (part == "..") {
            return escapes(location, "it contains '..'");
        }
        if (!part.empty() && part != ".") {
            parts.emplace_back(part);
        }
        begin = end + 1;
    }
    if (parts.empty()) {
        return escapes(location, "it names a folder");
    }
    return parts;
}

Result<int64_t> parse_count(const StringPair& entry) {
    int64_t value = -1;
    const char* end = entry.value.data() + entry.value.size();
    const auto [stop, error] = std::from_chars(entry.value.data(), end, value);
    if (error != std::errc() || stop != end || value < 0) {
        return parse_error("the {} of external data is no number of bytes", entry.key)
            .with_found(fmt::format("'{}'", entry.value))
            .with_needed("0 or more");
    }
    return value;
}

}  // namespace

Result<const MappedFile*> ExternalData::open(std::string_view location) {
    if (const auto found = files_.find(location); found != files_.end()) {
        return &found->second;
    }
    LEAT_ASSIGN_OR_RETURN(const std::vector<std::string> parts, split_location(location));
    const std::string full = (folder_ / std::string(location)).string();
    const char* folder = folder_.empty() ? "." : folder_.c_str();
    Descriptor current(::open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    for (size_t i = 0; i < parts.size() && current.is_open(); ++i) {
        const int kind = i + 1 < parts.size() ? O_DIRECTORY : O_NONBLOCK;
        current = Descriptor(
            ::openat(current.value(), parts[i].c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | kind));
    }
    if (!current.is_open()) {
        // With O_NOFOLLOW a link gives ELOOP for a file and ENOTDIR for a folder.
        std::error_code ignored;
        std::filesystem::path path = folder_;
        for (const std::string& part : parts) {
            path /= part;
            if (std::filesystem::is_symlink(path, ignored)) {
                return escapes(location, "a part of it is a symbolic link");
            }
        }
        return not_found("cannot open the external data '{}'", location)
            .with_found("no readable file " + full)
            .with_hint("external data files belong beside the model");
    }
    struct stat info = {};
    if (fstat(current.value(), &info) == 0 && S_ISREG(info.st_mode) && info.st_nlink > 1) {
        return escapes(location, "the file has several hard links, perhaps outside the folder");
    }
    LEAT_ASSIGN_OR_RETURN(MappedFile file, MappedFile::map(current.value(), full, access_));
    return &files_.emplace(std::string(location), std::move(file)).first->second;
}

Result<Bytes> ExternalData::find(const std::vector<StringPair>& entries,
                                 int64_t needed_bytes,
                                 std::shared_ptr<const void>& owner) {
    std::string_view location;
    int64_t offset = 0;
    int64_t length = needed_bytes;
    for (const StringPair& entry : entries) {
        if (entry.key == "location") {
            location = entry.value;
        } else if (entry.key == "offset") {
            LEAT_ASSIGN_OR_RETURN(offset, parse_count(entry));
        } else if (entry.key == "length") {
            LEAT_ASSIGN_OR_RETURN(length, parse_count(entry));
        }
    }
    LEAT_ASSIGN_OR_RETURN(const MappedFile* file, open(location));
    if (length != needed_bytes) {
        return invalid_argument("the length of external data does not match dtype and dims")
            .with_found(fmt::format("{} bytes", length))
            .with_needed(fmt::format("{} bytes", needed_bytes));
    }
    const auto size = int64_t(file->bytes().size());
    if (offset > size || length > size - offset) {
        return invalid_argument("external data lies outside its file '{}'", location)
            .with_found(fmt::format("offset {}, length {}", offset, length))
            .with_needed(fmt::format("an end within the file's {} bytes", size));
    }
    owner = file->owner();
    return file->bytes().subspan(size_t(offset), size_t(length));
}

}  // namespace leat::onnx
