#include "backends/plugin/find_plugin.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <system_error>

namespace leat {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPrefix = "leat_";
constexpr std::string_view kSuffix = ".so";

bool is_plugin_name(std::string_view name) {
    return name.size() > kPrefix.size() + kSuffix.size() &&
           name.substr(0, kPrefix.size()) == kPrefix &&
           name.substr(name.size() - kSuffix.size()) == kSuffix;
}

}  // namespace

std::string_view installed_plugin_folder() {
    return LEAT_PLUGIN_FOLDER;
}

Result<std::string> find_plugin(std::string_view backend, const std::string& path) {
    std::error_code ignored;
    const fs::file_status given = path.empty() ? fs::file_status() : fs::status(path, ignored);
    if (fs::is_regular_file(given)) {
        return path;
    }
    if (fs::exists(given) && !fs::is_directory(given)) {
        return invalid_argument("no plugin for backend '{}'", backend)
            .with_file(path)
            .with_found("a device, pipe or socket there")
            .with_needed("a shared object, or a folder with some");
    }
    std::vector<std::string> tried;
    for (const std::string& folder : {path, std::string(installed_plugin_folder())}) {
        if (folder.empty()) {
            continue;
        }
        std::string file = fmt::format("{}/{}{}{}", folder, kPrefix, backend, kSuffix);
        if (fs::is_regular_file(file, ignored)) {
            return file;
        }
        tried.push_back(std::move(file));
    }
    return not_found("no plugin for backend '{}'", backend)
        .with_found(fmt::format("nothing at {}", fmt::join(tried, ", ")));
}

std::vector<std::string> plugins_in(const std::string& folder) {
    std::vector<std::string> files;
    std::error_code failure;
    for (fs::directory_iterator entry(folder, failure), end; !failure && entry != end;
         entry.increment(failure)) {
        if (is_plugin_name(entry->path().filename().native())) {
            files.push_back(entry->path().native());
        }
    }
    std::sort(files.begin(), files.end());
    return files;
}

}  // namespace leat
