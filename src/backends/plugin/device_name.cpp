#include "backends/plugin/device_name.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "base/files/text_file.h"

namespace leat {
namespace {

constexpr std::string_view kNamePrefix = "name~";

// The name becomes part of a file's.
bool is_backend_character(char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
}

Status malformed(std::string_view text) {
    return invalid_argument("'{}' is no name of a device", text)
        .with_needed("BACKEND, BACKEND:NUMBER or BACKEND:name~PART, for example vulkan:0");
}

}  // namespace

Result<DeviceName> parse_device_name(std::string_view text) {
    DeviceName name;
    const size_t colon = text.find(':');
    name.backend = std::string(text.substr(0, colon));
    if (name.backend.empty() ||
        !std::all_of(name.backend.begin(), name.backend.end(), is_backend_character)) {
        return malformed(text);
    }
    if (colon == std::string_view::npos) {
        return name;
    }
    const std::string_view device = text.substr(colon + 1);
    if (device.substr(0, kNamePrefix.size()) == kNamePrefix) {
        name.name_part = std::string(device.substr(kNamePrefix.size()));
        return name.name_part.empty() ? Result<DeviceName>(malformed(text)) : name;
    }
    const std::optional<int64_t> number = parse_integer(device);
    if (!number || *number < 0 || *number > std::numeric_limits<int>::max()) {
        return malformed(text);
    }
    name.number = int(*number);
    return name;
}

Result<int> choose_device(const DeviceName& name, std::span<const std::string> devices) {
    if (name.number && size_t(*name.number) < devices.size()) {
        return *name.number;
    }
    for (size_t i = 0; i < devices.size() && !name.number; ++i) {
        if (devices[i].find(name.name_part) != std::string::npos) {
            return int(i);
        }
    }
    const std::string wanted = name.number ? fmt::format(" {}", *name.number)
                               : name.name_part.empty()
                                   ? std::string()
                                   : fmt::format(" whose name has '{}'", name.name_part);
    return not_found("backend '{}' has no device{}", name.backend, wanted)
        .with_found(fmt::format("{} devices: {}", devices.size(), fmt::join(devices, ", ")));
}

}  // namespace leat
