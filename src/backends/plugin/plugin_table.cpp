// Whether a plugin's table fits this host.
#include <dlfcn.h>

#include <array>
#include <cstring>

#include "backends/plugin/loaded_plugin.h"

namespace leat {
namespace {

constexpr uint32_t kOldestVersion = 1;
// sizeof(LeatBackendApi) in each version from kOldestVersion on.
constexpr std::array<uint32_t, LEAT_PLUGIN_VERSION> kTableBytes = {sizeof(LeatBackendApi)};

// The file that holds this code: the program's or the library's.
std::string host_file() {
    Dl_info info = {};
    const bool is_known = ::dladdr(reinterpret_cast<void*>(&check_plugin_table), &info) != 0;
    return is_known && info.dli_fname != nullptr ? info.dli_fname : "this program";
}

Status mismatch(const std::string& file, std::string found, std::string needed) {
    return make_error(StatusCode::kVersionMismatch, "plugin and host do not fit")
        .with_file(file)
        .with_found(std::move(found))
        .with_needed(std::move(needed))
        .with_hint("build the plugin with this leat's plugin.h");
}

Status check_entries(const LeatBackendApi& api, const std::string& file) {
    constexpr size_t kFirst = offsetof(LeatBackendApi, is_available);
    for (size_t at = kFirst; at + sizeof(void*) <= sizeof(LeatBackendApi); at += sizeof(void*)) {
        void* entry = nullptr;
        std::memcpy(&entry, reinterpret_cast<const char*>(&api) + at, sizeof(entry));
        if (entry == nullptr) {
            return invalid_argument("entry {} of its table is null", (at - kFirst) / sizeof(void*))
                .with_file(file)
                .with_needed("a function; one that answers kLeatUnimplemented if need be");
        }
    }
    return {};
}

}  // namespace

Status check_plugin_table(const LeatBackendApi& api,
                          const std::string& file,
                          uint32_t host_version) {
    const uint32_t version = api.header.version;
    if (version < kOldestVersion) {
        return mismatch(file, fmt::format("version {} of the plugin interface", version),
                        fmt::format("{} or later, for {} of version {}", kOldestVersion,
                                    host_file(), host_version));
    }
    // A later version has at least what the latest one known here has; a known one has its size.
    const bool is_known = version <= kTableBytes.size();
    const uint32_t known_bytes = is_known ? kTableBytes[version - 1] : kTableBytes.back();
    const uint32_t bytes = api.header.struct_bytes;
    if (is_known ? bytes != known_bytes : bytes < known_bytes) {
        return mismatch(file,
                        fmt::format("a table of {} bytes that says version {}", bytes, version),
                        fmt::format("{}{} bytes, as {} knows that version",
                                    is_known ? "" : "at least ", known_bytes, host_file()));
    }
    if (api.min_host_version > host_version) {
        return mismatch(file,
                        fmt::format("a plugin of version {} that needs a host of version {}",
                                    version, api.min_host_version),
                        fmt::format("at most {}, the version of {}", host_version, host_file()));
    }
    if (api.name == nullptr || api.library_version == nullptr) {
        return invalid_argument("its table has no name or no version of the library")
            .with_file(file);
    }
    return check_entries(api, file);
}

}  // namespace leat
