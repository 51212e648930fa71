#include "machine/device_list.h"

#include <algorithm>
#include <filesystem>
#include <set>

#include "backends/plugin/find_plugin.h"
#include "base/error.h"

namespace leat {
namespace {

constexpr std::string_view kPluginPrefix = "leat_";

HostServices::Log log_of(const Logger& logger) {
    if (!logger) {
        return {};
    }
    return [logger](int32_t level, std::string_view text) {
        logger(level <= kLeatLogDebug     ? LogLevel::kDebug
               : level == kLeatLogInfo    ? LogLevel::kInfo
               : level == kLeatLogWarning ? LogLevel::kWarning
                                          : LogLevel::kError,
               text);
    };
}

// "sim" of ".../leat_sim.so".
std::string backend_of_file(const std::string& file) {
    const std::string stem = std::filesystem::path(file).stem().string();
    return stem.starts_with(kPluginPrefix) ? stem.substr(kPluginPrefix.size()) : stem;
}

Result<ListedDevice> parse_device(const std::string& text, LoadedBackends& backends) {
    ListedDevice device;
    device.label = text;
    Result<const Backend*> host = find_backend(text);
    if (host.ok()) {
        device.host = *host;
        if (const std::string reason = device.host->unavailable_reason(); !reason.empty()) {
            return unsupported("backend '{}' is not available: {}", text, reason);
        }
        return device;
    }
    LEAT_ASSIGN_OR_RETURN(const DeviceName name, parse_device_name(text));
    Result<std::shared_ptr<DeviceBackend>> backend = backends.find(name.backend);
    const bool is_found = backend.ok() || backend.error().code() != StatusCode::kNotFound ||
                          !backend.error().file().empty();
    if (!is_found && name.backend == text) {
        // Neither built in nor a file.
        return std::move(host).error().with_found(backend.error().found());
    }
    LEAT_ASSIGN_OR_RETURN(device.place.backend, std::move(backend));
    LEAT_ASSIGN_OR_RETURN(device.place.number, device.place.backend->device_number(name));
    device.place.label = text;
    return device;
}

}  // namespace

Result<std::shared_ptr<DeviceBackend>> LoadedBackends::find(const std::string& backend) {
    const std::lock_guard lock(mutex_);
    std::shared_ptr<DeviceBackend>& loaded = backends_[backend];
    if (loaded == nullptr) {
        const auto settings = options_.backend_settings.find(backend);
        LEAT_ASSIGN_OR_RETURN(
            loaded,
            DeviceBackend::open(
                backend, options_.backend_path,
                settings == options_.backend_settings.end() ? BackendSettings() : settings->second,
                log_of(options_.logger), parallel_for_));
    }
    LEAT_RETURN_IF_ERROR(loaded->check_process());
    return loaded;
}

Status LoadedBackends::unload(std::string_view backend) {
    const std::lock_guard lock(mutex_);
    const auto found = backends_.find(backend);
    if (found == backends_.end()) {
        return {};
    }
    if (found->second != nullptr) {
        LEAT_RETURN_IF_ERROR(found->second->unload());
    }
    backends_.erase(found);
    return {};
}

std::vector<std::pair<std::string, std::string>> LoadedBackends::list() const {
    std::vector<std::string> files;
    std::error_code ignored;
    if (std::filesystem::is_regular_file(options_.backend_path, ignored)) {
        files.push_back(options_.backend_path);
    }
    for (const std::string& folder :
         {options_.backend_path, std::string(installed_plugin_folder())}) {
        const std::vector<std::string> found = plugins_in(folder);
        files.insert(files.end(), found.begin(), found.end());
    }
    std::vector<std::pair<std::string, std::string>> rows;
    rows.reserve(files.size());
    std::set<std::string> names;
    for (const std::string& file : files) {
        if (!names.insert(backend_of_file(file)).second) {
            continue;
        }
        const HostServices services;
        const Result<std::unique_ptr<LoadedPlugin>> plugin = LoadedPlugin::open(file, services);
        rows.emplace_back(backend_of_file(file),
                          plugin.ok() ? (*plugin)->unavailable_reason() : plugin.error().message());
    }
    return rows;
}

Result<std::vector<ListedDevice>> parse_devices(const std::string& devices,
                                                LoadedBackends& backends) {
    std::vector<ListedDevice> list;
    size_t begin = 0;
    while (begin <= devices.size()) {
        const size_t comma = std::min(devices.find(',', begin), devices.size());
        LEAT_ASSIGN_OR_RETURN(ListedDevice device,
                              parse_device(devices.substr(begin, comma - begin), backends));
        list.push_back(std::move(device));
        begin = comma + 1;
    }
    return list;
}

}  // namespace leat
