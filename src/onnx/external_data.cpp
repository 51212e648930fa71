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

namespace fs = std::filesystem;

Status escapes(std::string_view location, const char* why) {
    return invalid_argument("the location of external data is not allowed: {}", why)
        .with_found(fmt::format("'{}'", location))
        .with_needed("a relative path to a file in the model's folder");
}

// Before any file is looked at.
Status check_location(std::string_view location) {
    if (location.empty() || location.find('\0') != std::string_view::npos) {
        return escapes(location, "it is no path");
    }
    const fs::path path(location);
    if (path.is_absolute()) {
        return escapes(location, "it is absolute");
    }
    if (std::find(path.begin(), path.end(), "..") != path.end()) {
        return escapes(location, "it contains '..'");
    }
    return {};
}

// A file that a location names.
struct Found {
    fs::path name;      // as the model and the caller wrote it
    fs::path resolved;  // no part of it is a link
};

// Both places that were looked at, and where a link leads: a cache may lack the file at its end.
Status missing(const ExternalFolders& folders,
               std::string_view location,
               const fs::path& name,
               const std::error_code& error) {
    std::error_code ignored;
    std::string found = fmt::format("{}: {}", name.string(), error.message());
    if (fs::is_symlink(name, ignored)) {
        found = fmt::format("{} is a link to {}: {}", name.string(),
                            fs::read_symlink(name, ignored).string(), error.message());
    } else if (!folders.target.empty() && !fs::equivalent(folders.target, folders.named, ignored)) {
        found += fmt::format("; nor is it in {}, where the model is", folders.target.string());
    }
    return not_found("cannot open the external data '{}'", location)
        .with_found(std::move(found))
        .with_hint("external data files belong beside the model");
}

// Beside the name of the model, else beside the model's target.
Result<Found> find_file(const ExternalFolders& folders, std::string_view location) {
    std::error_code error;
    Found found{folders.named / location, {}};
    found.resolved = fs::canonical(found.name, error);
    if (error && !folders.target.empty()) {
        std::error_code other;
        const fs::path beside_target = folders.target / location;
        if (fs::path resolved = fs::canonical(beside_target, other); !other) {
            return Found{beside_target, std::move(resolved)};
        }
    }
    if (error) {
        return missing(folders, location, found.name, error);
    }
    return found;
}

bool is_inside(const fs::path& folder, const fs::path& resolved) {
    return *resolved.lexically_relative(folder).begin() != "..";
}

// The path leads to what is open.
bool leads_to(const fs::path& path, int descriptor) {
    struct stat named = {};
    struct stat opened = {};
    return ::stat(path.c_str(), &named) == 0 && ::fstat(descriptor, &opened) == 0 &&
           named.st_dev == opened.st_dev && named.st_ino == opened.st_ino;
}

// Opens a resolved path part by part, and no link: what became one meanwhile leads nowhere. Not
// open: some part of it is a link, or cannot be read.
Descriptor open_resolved(const fs::path& resolved) {
    const fs::path parts = resolved.relative_path();
    // O_PATH: who may pass through a folder need not be allowed to list it.
    Descriptor current(::open("/", O_PATH | O_DIRECTORY | O_CLOEXEC));
    for (auto part = parts.begin(); part != parts.end() && current.is_open();) {
        const fs::path& name = *part++;
        // O_NONBLOCK: opening a pipe that nobody writes must not hang.
        const int kind = part != parts.end() ? O_PATH | O_DIRECTORY : O_RDONLY | O_NONBLOCK;
        current =
            Descriptor(::openat(current.value(), name.c_str(), O_CLOEXEC | O_NOFOLLOW | kind));
    }
    return current;
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

Result<OpenModel> open_model(const fs::path& model) {
    const fs::path folder = model.has_parent_path() ? model.parent_path() : fs::path(".");
    OpenModel opened;
    opened.folder = Descriptor(::open(folder.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
    const fs::path name = model.filename();
    if (!opened.folder.is_open() || name.empty()) {
        LEAT_ASSIGN_OR_RETURN(opened.file, open_to_read(model));
        return opened;
    }
    // O_NONBLOCK: opening a pipe that nobody writes must not hang.
    opened.file = Descriptor(
        ::openat(opened.folder.value(), name.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    if (!opened.file.is_open()) {
        return not_found("cannot open the file: {}", std::strerror(errno))
            .with_file(model.string());
    }
    return opened;
}

Result<ExternalFolders> external_folders(const fs::path& model,
                                         const OpenModel& opened,
                                         const std::vector<std::string>& roots) {
    ExternalFolders folders;
    std::error_code error;
    folders.named = model.has_parent_path() ? model.parent_path() : fs::path(".");
    if (fs::path resolved = fs::canonical(folders.named, error);
        !error && leads_to(resolved, opened.folder.value())) {
        folders.allowed.push_back(std::move(resolved));
    }
    // Not of what has no name any more: a model may be read from a descriptor (/dev/fd/3).
    if (const fs::path target = fs::canonical(model, error);
        !error && leads_to(target, opened.file.value())) {
        folders.target = target.parent_path();
        folders.allowed.push_back(folders.target);
    }
    for (const std::string& root : roots) {
        if (root.empty()) {
            return invalid_argument("a folder of LoadOnnxOptions::external_roots has no name");
        }
        fs::path resolved = fs::canonical(root, error);
        if (error) {
            return not_found("a folder of LoadOnnxOptions::external_roots cannot be used: {}",
                             error.message())
                .with_found(fmt::format("'{}'", root));
        }
        if (!fs::is_directory(resolved, error)) {
            return invalid_argument("LoadOnnxOptions::external_roots names what is no folder")
                .with_found(fmt::format("'{}'", root));
        }
        folders.allowed.push_back(std::move(resolved));
    }
    return folders;
}

Result<const MappedFile*> ExternalData::open(std::string_view location) {
    if (const auto found = files_.find(location); found != files_.end()) {
        return &found->second;
    }
    LEAT_RETURN_IF_ERROR(check_location(location));
    LEAT_ASSIGN_OR_RETURN(const Found found, find_file(folders_, location));
    const auto folder =
        std::find_if(folders_.allowed.begin(), folders_.allowed.end(),
                     [&](const fs::path& allowed) { return is_inside(allowed, found.resolved); });
    if (folder == folders_.allowed.end()) {
        return escapes(location, "it is a link that leads out of the model's folder")
            .with_found(fmt::format("'{}', which leads to {}", location, found.resolved.string()))
            .with_hint(
                "copy the file beside the model; a program may allow its folder by "
                "LoadOnnxOptions::external_roots");
    }
    const Descriptor descriptor = open_resolved(found.resolved);
    if (!descriptor.is_open()) {
        return not_found("cannot open the external data '{}'", location)
            .with_found(fmt::format("no readable file {}", found.resolved.string()))
            .with_hint("external data files belong beside the model");
    }
    LEAT_ASSIGN_OR_RETURN(MappedFile file,
                          MappedFile::map(descriptor.value(), found.name.string(), access_));
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
