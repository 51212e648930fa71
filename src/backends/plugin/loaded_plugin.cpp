#include "backends/plugin/loaded_plugin.h"

#include <dlfcn.h>

#include <utility>

#include "backends/lowered/failure.h"
#include "backends/plugin/plugin_answers.h"
#include "backends/plugin/text_sink.h"
#include "base/caught_exception.h"
#include "base/files/shared_object.h"
#include "leat/plugin_backend.h"

namespace leat {
namespace {

Result<const LeatBackendApi*> query(void* library,
                                    const std::string& file,
                                    const HostServices& host) {
    const auto entry = reinterpret_cast<LeatBackendQuery>(::dlsym(library, LEAT_PLUGIN_QUERY));
    if (entry == nullptr) {
        return parse_error("no backend of leat: it has no symbol " LEAT_PLUGIN_QUERY)
            .with_file(file);
    }
    try {
        const LeatBackendApi* api = entry(&host.api(), LEAT_PLUGIN_VERSION);
        if (api == nullptr) {
            return make_error(StatusCode::kVersionMismatch, "its entry point gives no table")
                .with_file(file);
        }
        return api;
    } catch (...) {
        return caught_exception("its entry point").with_file(file);
    }
}

}  // namespace

SettingsView::SettingsView(const BackendSettings& settings)
    : settings_(plugin::made<LeatSettings>()) {
    names_.reserve(settings.size());
    values_.reserve(settings.size());
    for (const auto& [name, value] : settings) {
        names_.push_back(name.c_str());
        values_.push_back(value.c_str());
    }
    settings_.count = int32_t(names_.size());
    settings_.names = names_.data();
    settings_.values = values_.data();
}

PluginError::PluginError() : error_(plugin::made<LeatError>()) {
    error_.text = text_;
    error_.capacity = int64_t(sizeof(text_));
}

Status PluginError::status(LeatCode code, std::string_view action) const {
    if (code == kLeatOk) {
        return {};
    }
    return make_error(lowered::status_code(code), "backend could not {}: {}", action, text());
}

Result<std::unique_ptr<LoadedPlugin>> LoadedPlugin::open(const std::string& file,
                                                         const HostServices& host) {
    LEAT_ASSIGN_OR_RETURN(SharedObject library, open_shared_object(file));
    LEAT_ASSIGN_OR_RETURN(const LeatBackendApi* api, query(library.get(), file, host));
    LEAT_RETURN_IF_ERROR(check_plugin_table(*api, file));
    return std::unique_ptr<LoadedPlugin>(new LoadedPlugin(file, library.release(), api, host));
}

Result<std::unique_ptr<LoadedPlugin>> LoadedPlugin::of_table(const LeatBackendApi& api,
                                                             const HostServices& host) {
    std::string name = fmt::format("built-in {}", api.name == nullptr ? "backend" : api.name);
    LEAT_RETURN_IF_ERROR(check_plugin_table(api, name));
    return std::unique_ptr<LoadedPlugin>(new LoadedPlugin(std::move(name), nullptr, &api, host));
}

LoadedPlugin::~LoadedPlugin() {
    if (is_inherited()) {
        keep_for_ever(backend_);
    } else {
        (void)unload();
    }
}

Status LoadedPlugin::check_process() const {
    if (!is_inherited()) {
        return {};
    }
    return make_error(StatusCode::kDeviceLost,
                      "backend '{}' is of the process that this one is a child of: fork() did not "
                      "bring its threads",
                      api_->name)
        .with_file(file_)
        .with_hint("make a Runtime in the child, or use devices in one process only");
}

std::string LoadedPlugin::unavailable_reason() const {
    PluginError error;
    const LeatCode code = api_->is_available(&host_.api(), error.get());
    return code == kLeatOk        ? std::string()
           : error.text().empty() ? std::string("it does not say why")
                                  : std::string(error.text());
}

Result<std::string> LoadedPlugin::describe_devices() const {
    const LeatChained* chained = plugin::find_chained(api_->header, LEAT_DEVICE_DESCRIPTION);
    if (chained == nullptr) {
        return unsupported("backend '{}' does not describe its devices", api_->name)
            .with_file(file_);
    }
    const auto description = plugin::read_chained<LeatDeviceDescription>(chained);
    if (description.describe == nullptr) {
        return make_error(StatusCode::kVersionMismatch, "its {} has no function",
                          LEAT_DEVICE_DESCRIPTION)
            .with_file(file_)
            .with_hint("build the plugin with this leat's plugin.h");
    }
    std::string text;
    const LeatSink sink = text_sink(text);
    PluginError error;
    const LeatCode code = description.describe(&host_.api(), &sink, error.get());
    LEAT_RETURN_IF_ERROR(error.status(code, "describe its devices").with_file(file_));
    return text;
}

Status LoadedPlugin::start(const BackendSettings& settings) {
    if (!is_loaded_ || backend_ != nullptr) {
        return invalid_argument("a backend is created once, from a plugin that is loaded")
            .with_file(file_);
    }
    const SettingsView given(settings);
    PluginError error;
    const LeatCode code = api_->create(&host_.api(), given.get(), &backend_, error.get());
    LEAT_RETURN_IF_ERROR(error.status(code, "start").with_file(file_));
    return check_devices().with_file(file_);
}

Status LoadedPlugin::check_devices() const {
    constexpr int32_t kMostDevices = 4096;
    for (int32_t i = 0; i < kMostDevices; ++i) {
        const LeatDeviceInfo* info = api_->device(backend_, i);
        if (info == nullptr) {
            return {};
        }
        LEAT_RETURN_IF_ERROR(check_device(*info));
    }
    return make_error(StatusCode::kInternal, "backend '{}' has more than {} devices", api_->name,
                      kMostDevices);
}

std::vector<std::string> LoadedPlugin::device_names() const {
    std::vector<std::string> names;
    for (int32_t i = 0; backend_ != nullptr; ++i) {
        const LeatDeviceInfo* info = api_->device(backend_, i);
        if (info == nullptr) {
            break;
        }
        names.emplace_back(info->name);
    }
    return names;
}

Status LoadedPlugin::check_idle() const {
    auto live = plugin::made<LeatLiveObjects>();
    PluginError error;
    LEAT_RETURN_IF_ERROR(
        error.status(api_->live_objects(backend_, &live, error.get()), "count its objects"));
    if (live.slabs + live.executables + live.instances + live.submissions == 0) {
        return {};
    }
    return make_error(StatusCode::kBusy, "backend '{}' is in use", api_->name)
        .with_found(fmt::format("{} slabs, {} executables, {} instances, {} submissions",
                                live.slabs, live.executables, live.instances, live.submissions))
        .with_needed("none of them")
        .with_hint("free requests, compiled graphs and buffers that use it first");
}

Status LoadedPlugin::unload() {
    if (!is_loaded_) {
        return {};
    }
    LEAT_RETURN_IF_ERROR(check_process());
    if (backend_ != nullptr) {
        LEAT_RETURN_IF_ERROR(check_idle().with_file(file_));
        PluginError error;
        const LeatCode code = api_->shutdown(backend_, error.get());
        LEAT_RETURN_IF_ERROR(error.status(code, "shut down").with_file(file_));
        backend_ = nullptr;
    }
    is_loaded_ = false;
    if (library_ != nullptr) {
        ::dlclose(std::exchange(library_, nullptr));
    }
    return {};
}

}  // namespace leat
