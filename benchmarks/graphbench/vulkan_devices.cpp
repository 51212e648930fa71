#include "vulkan_devices.h"

#include <fmt/core.h>

#include <filesystem>
#include <string_view>
#include <system_error>
#include <utility>

#include "backends/plugin/find_plugin.h"
#include "backends/plugin/loaded_plugin.h"
#include "screen.h"

namespace leat::bench {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kBackend = "vulkan";
constexpr std::string_view kFile = "leat_vulkan.so";

// The path may be the file of another backend, which says nothing of where Vulkan's is.
std::string search_path(const std::string& backend_path, const BuiltBackends& built) {
    std::error_code ignored;
    const fs::path path(backend_path);
    const bool is_other = fs::is_regular_file(path, ignored) && path.filename() != kFile;
    return is_other ? built.folder : backend_path;
}

// Why there is no shared object; `error` names the places.
std::string absence(const Status& error, const BuiltBackends& built) {
    if (!built.vulkan_missing.empty()) {
        return "not built: " + built.vulkan_missing;
    }
    std::error_code ignored;
    const bool can_build = fs::exists(fs::path(built.build_folder) / "build.ninja", ignored);
    return fmt::format("not found: {}{}", error.found(),
                       can_build ? fmt::format("; this builds it: ninja -C {} {}",
                                               built.build_folder, built.vulkan_target)
                                 : "");
}

// What the shared object says of the devices.
Result<Json> ask_backend(const std::string& file) {
    const HostServices host;
    LEAT_ASSIGN_OR_RETURN(auto plugin, LoadedPlugin::open(file, host));
    LEAT_ASSIGN_OR_RETURN(const std::string text, plugin->describe_devices());
    LEAT_ASSIGN_OR_RETURN(Json json, Json::parse(text));
    if (!json["available"].is_bool() || !json["devices"].is_array()) {
        return parse_error("the backend describes its devices without 'available' or 'devices'")
            .with_file(file);
    }
    return json;
}

Json unavailable(std::string_view reason) {
    Json json = Json::object();
    json.set("available", false).set("reason", reason).set("devices", Json::array());
    return json;
}

Json description(const std::string& backend_path, const BuiltBackends& built) {
    const Result<std::string> file = find_plugin(kBackend, search_path(backend_path, built));
    if (!file.ok()) {
        return unavailable(absence(file.error(), built));
    }
    Result<Json> answer = ask_backend(*file);
    return answer.ok() ? std::move(answer).value() : unavailable(answer.error().message());
}

// A size that is unsigned in the driver's structs.
std::string size_text(const Json& bytes) {
    return format_bytes(double(uint64_t(bytes.integer())));
}

std::string limits_text(const Json& device) {
    const Json& limits = device["limits"];
    return fmt::format(
        "subgroups of {}, {} shared, buffers {} (bound {}), push constants {} B, queues {}",
        limits["subgroupSize"].integer(), size_text(limits["maxComputeSharedMemorySize"]),
        size_text(limits["maxBufferSize"]), size_text(limits["maxStorageBufferRange"]),
        limits["maxPushConstantsSize"].integer(), device["queue_families"].items().size());
}

std::string devices_text(const Json::Array& devices) {
    Table table({"Vulkan device", "name", "kind", "tier", "used", "Vulkan", "driver"});
    std::string notes;
    for (size_t i = 0; i < devices.size(); ++i) {
        const Json& device = devices[i];
        const int64_t tier = device["tier"].integer();
        table.add({fmt::format("vulkan:{}", i), device["name"].text(), device["kind"].text(),
                   tier < 0 ? "none" : fmt::format("{}", tier),
                   fmt::format("{}: {}", device["used_by_default"].boolean() ? "yes" : "no",
                               device["reason"].text()),
                   device["identity"]["api_version"].text(), device["identity"]["driver"].text()});
        notes += fmt::format("vulkan:{}: {}\n", i, limits_text(device));
        if (const std::string missing = device["next_tier_needs"].text(); !missing.empty()) {
            notes += fmt::format("vulkan:{}: tier {} needs {}\n", i, tier + 1, missing);
        }
    }
    return fmt::format("\n{}{}", table.to_string(), notes);
}

}  // namespace

VulkanReport vulkan_report(const std::string& backend_path, const BuiltBackends& built) {
    Json json = description(backend_path, built);
    std::string text = json["devices"].items().empty()
                           ? fmt::format("\nVulkan     {}\n", json["reason"].text())
                           : devices_text(json["devices"].items());
    return {std::move(json), std::move(text)};
}

}  // namespace leat::bench
