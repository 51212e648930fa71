// A backend's table in this process, of a shared object or of a built-in backend, and a backend
// created by it.
//
// Not thread-safe, except that entries of api() may be called as plugin.h says.
// A child of fork() does not have the threads of a backend that its parent started: there nothing
// of api() may be called.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "backends/plugin/host_services.h"
#include "base/at_fork.h"
#include "base/error.h"
#include "leat/plugin.h"

namespace leat {

// By name; unknown ones are an error of start().
using BackendSettings = std::map<std::string, std::string, std::less<>>;

// Settings as the ABI has them; `settings` outlive it unchanged.
class SettingsView {
  public:
    explicit SettingsView(const BackendSettings& settings);
    SettingsView(const SettingsView&) = delete;
    SettingsView& operator=(const SettingsView&) = delete;

    const LeatSettings* get() const { return &settings_; }

  private:
    std::vector<const char*> names_;
    std::vector<const char*> values_;
    LeatSettings settings_;
};

// What a call of the table reports, as a Status.
class PluginError {
  public:
    PluginError();
    PluginError(const PluginError&) = delete;
    PluginError& operator=(const PluginError&) = delete;

    LeatError* get() { return &error_; }
    std::string_view text() const { return text_; }
    // Success for kLeatOk. `action` completes "backend could not ...".
    Status status(LeatCode code, std::string_view action) const;

  private:
    char text_[512] = {};
    LeatError error_;
};

// Why a table of `file` cannot be used by a host of that version; success if it can.
Status check_plugin_table(const LeatBackendApi& api,
                          const std::string& file,
                          uint32_t host_version = LEAT_PLUGIN_VERSION);

class LoadedPlugin {
  public:
    // An error names the file and what is wrong: it is no shared object, no plugin, of another
    // version, its entry point throws. `host` outlives the plugin.
    static Result<std::unique_ptr<LoadedPlugin>> open(const std::string& file,
                                                      const HostServices& host);
    // Of a table that is linked into this process and outlives the plugin: nothing is closed.
    static Result<std::unique_ptr<LoadedPlugin>> of_table(const LeatBackendApi& api,
                                                          const HostServices& host);
    LoadedPlugin(const LoadedPlugin&) = delete;
    LoadedPlugin& operator=(const LoadedPlugin&) = delete;
    // As unload(); where that is refused, or the backend is a parent's, the file stays loaded for
    // good, since something of the backend still lives.
    ~LoadedPlugin();

    // For a table of this process: what messages call it.
    const std::string& file() const { return file_; }
    const LeatBackendApi& api() const { return *api_; }
    // Empty if the machine has what the backend needs.
    std::string unavailable_reason() const;
    // JSON, as LeatDeviceDescription says; needs no start(). kUnsupported: it describes none.
    Result<std::string> describe_devices() const;

    // Creates the backend; once until unload(). Also an error where what it says of its devices
    // cannot be.
    Status start(const BackendSettings& settings);
    // Success in the process that opened the plugin, kDeviceLost in a child of fork().
    Status check_process() const;
    bool is_inherited() const { return opened_.is_inherited(); }
    // Null before start().
    LeatBackend* backend() const { return backend_; }
    std::vector<std::string> device_names() const;

    // Shuts the backend down and closes the file, if there is one. kBusy, with the counts, while
    // slabs, executables, instances or submissions live; kDeviceLost in a child of fork(). Then
    // nothing has changed.
    Status unload();

  private:
    LoadedPlugin(std::string file,
                 void* library,
                 const LeatBackendApi* api,
                 const HostServices& host)
        : file_(std::move(file)), library_(library), api_(api), host_(host) {}
    Status check_devices() const;
    Status check_idle() const;

    std::string file_;
    void* library_;  // null: the table is of this process, or closed
    const LeatBackendApi* api_;
    const HostServices& host_;
    const ForkMark opened_;
    LeatBackend* backend_ = nullptr;
    bool is_loaded_ = true;  // until unload()
};

}  // namespace leat
