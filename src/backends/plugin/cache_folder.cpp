#include "backends/plugin/cache_folder.h"

#include <fmt/core.h>

#include <cstdlib>
#include <filesystem>
#include <system_error>

namespace leat {
namespace {

namespace fs = std::filesystem;

// A relative path in these variables is none (XDG base directory specification).
fs::path absolute_path_in(const char* variable) {
    const char* text = std::getenv(variable);
    fs::path path = text == nullptr ? "" : text;
    return path.is_absolute() ? path : fs::path();
}

}  // namespace

std::string cache_root() {
    fs::path folder = absolute_path_in("XDG_CACHE_HOME");
    if (folder.empty()) {
        const fs::path home = absolute_path_in("HOME");
        if (home.empty()) {
            return {};
        }
        folder = home / ".cache";
    }
    return (folder / "leat").string();
}

std::string make_cache_folder(std::string_view backend, const HostServices::Log& log) {
    const std::string root = cache_root();
    if (root.empty()) {
        return {};
    }
    const fs::path folder = fs::path(root) / backend;
    std::error_code error;
    fs::create_directories(folder, error);
    // Two processes may make it at the same time, which one of them sees as an error.
    std::error_code absent;
    if (fs::is_directory(folder, absent)) {
        return folder.string();
    }
    if (log) {
        log(kLeatLogWarning,
            fmt::format("'{}' has no cache: {}: {}", backend, folder.string(), error.message()));
    }
    return {};
}

}  // namespace leat
