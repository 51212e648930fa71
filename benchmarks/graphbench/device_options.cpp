#include "device_options.h"

#include <fmt/format.h>

#include <filesystem>
#include <set>
#include <string_view>
#include <vector>

#include "backends/backend.h"
#include "base/error.h"
#include "base/files/text_file.h"
#include "exit_codes.h"
#include "leat/graph.h"
#include "zoo/suggestion.h"

namespace leat::bench {
namespace {

// The backend of a shared object: "my" of "leat_my.so"; empty: a folder was given, or nothing.
std::string backend_of_path(const Options& options) {
    constexpr std::string_view kPrefix = "leat_";
    const std::filesystem::path path(options.text("backend-path"));
    const std::string stem = path.extension() == ".so" ? path.stem().string() : std::string();
    return stem.compare(0, kPrefix.size(), kPrefix) == 0 ? stem.substr(kPrefix.size()) : stem;
}

// "sim" of "sim:1".
std::string_view backend_of_device(std::string_view device) {
    return device.substr(0, device.find(':'));
}

}  // namespace

std::string backends_of(const Options& options) {
    if (options.given("device")) {
        return options.text("device");
    }
    const std::string of_path = options.given("backend") ? std::string() : backend_of_path(options);
    return of_path.empty() ? options.text("backend") : of_path;
}

Status check_device_options(const Options& options) {
    std::string list = backends_of(options);
    if (list.empty() || list.front() == ',' || list.back() == ',' ||
        list.find(",,") != std::string::npos) {
        return invalid_argument("--device is '{}'; needed: names with commas between", list);
    }
    if (options.given("against")) {
        list += "," + options.text("against");
    }
    std::set<std::string, std::less<>> used;
    for (const std::string& device : split(list, ',')) {
        used.emplace(backend_of_device(device));
    }
    for (const std::string& text : options.list("backend-setting")) {
        const std::string backend = text.substr(0, text.find('.'));
        if (used.count(backend) == 0) {
            return invalid_argument(
                "--backend-setting {}: the list of devices has no backend '{}'; needed: one of "
                "'{}'",
                text, backend, fmt::join(used, "', '"));
        }
        if (find_backend(backend).ok()) {
            return invalid_argument("--backend-setting {}: backend '{}' has no settings", text,
                                    backend);
        }
    }
    return {};
}

int exit_code_for_devices(const Runtime& runtime,
                          const std::string& devices,
                          const Status& status,
                          bool at_run) {
    const int code = exit_code_for(status, at_run);
    if (status.code() != StatusCode::kNotFound || devices.find(':') == std::string::npos) {
        return code;
    }
    const Result<Graph> least =
        parse_graph("graph g (x: f32[1]) -> (y: f32[1]) {\n  y = Identity(x)\n}\n");
    CompileOptions options;
    options.devices = devices;
    options.fallback = Fallback::kAllow;
    return least.ok() && !runtime.compile(*least, options).ok() ? int(kExitDevice) : code;
}

Status check_backends(const Runtime& runtime, const std::string& backends) {
    for (const std::string& device : split(backends, ',')) {
        const std::string_view wanted = backend_of_device(device);
        const bool is_numbered = wanted.size() < device.size();
        // The built-in ones need no look at shared objects.
        if (const Result<const Backend*> own = find_backend(wanted);
            own.ok() && (*own)->unavailable_reason().empty()) {
            if (is_numbered) {
                return not_found("backend '{}' is one device; needed: its name without a number",
                                 wanted);
            }
            continue;
        }
        const auto all = runtime.backends();
        std::vector<std::string_view> names;
        bool found = false;
        for (const auto& [name, reason] : all) {
            names.emplace_back(name);
            if (name == wanted && !reason.empty()) {
                return not_found("backend '{}' is not available: {}", wanted, reason);
            }
            found = found || name == wanted;
        }
        if (!found) {
            return not_found("no backend '{}'{} There are: {}", wanted,
                             zoo::did_you_mean(wanted, names), zoo::comma_list(names));
        }
    }
    return Status();
}

}  // namespace leat::bench
