#include "backends/vulkan/device/device_choice.h"

#include <algorithm>
#include <cctype>
#include <charconv>

#include "backends/vulkan/device/tier.h"
#include "base/error.h"

namespace leat::vulkan {
namespace {

constexpr std::string_view kNamePrefix = "name~";

std::string lower_case(std::string_view text) {
    std::string lower(text);
    std::transform(lower.begin(), lower.end(), lower.begin(),
                   [](unsigned char c) { return char(std::tolower(c)); });
    return lower;
}

std::string listing(std::span<const DeviceInfo> devices) {
    std::string text;
    for (size_t i = 0; i < devices.size(); ++i) {
        text += fmt::format("{}{} '{}'", i == 0 ? "" : ", ", i, devices[i].name);
    }
    return text.empty() ? "no device" : text;
}

Result<size_t> default_device(std::span<const DeviceInfo> devices) {
    const std::vector<DefaultUse> uses = default_use(devices);
    const auto used =
        std::find_if(uses.begin(), uses.end(), [](const DefaultUse& use) { return use.is_used; });
    if (used == uses.end()) {
        return not_found("no Vulkan device is used without being named")
            .with_found(listing(devices));
    }
    return size_t(used - uses.begin());
}

Result<size_t> named_device(std::span<const DeviceInfo> devices, std::string_view name) {
    if (name.substr(0, kNamePrefix.size()) == kNamePrefix) {
        const std::string part = lower_case(name.substr(kNamePrefix.size()));
        for (size_t i = 0; i < devices.size(); ++i) {
            if (tier_of(devices[i]).level != kNoTier &&
                lower_case(devices[i].name).find(part) != std::string::npos) {
                return i;
            }
        }
        return not_found("no usable Vulkan device has a name with '{}' in it",
                         name.substr(kNamePrefix.size()))
            .with_found(listing(devices));
    }
    size_t index = 0;
    const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), index);
    if (error != std::errc() || end != name.data() + name.size()) {
        return invalid_argument("'{}' does not name a Vulkan device", name)
            .with_needed("a number, or name~TEXT");
    }
    if (index >= devices.size()) {
        return not_found("there is no Vulkan device {}", index).with_found(listing(devices));
    }
    return index;
}

}  // namespace

std::vector<DefaultUse> default_use(std::span<const DeviceInfo> devices) {
    std::vector<DefaultUse> uses;
    uses.reserve(devices.size());
    bool is_taken = false;
    for (const DeviceInfo& info : devices) {
        const Tier tier = tier_of(info);
        if (tier.level == kNoTier) {
            uses.push_back({false, fmt::format("lacks {}", tier.missing)});
        } else if (info.kind == DeviceKind::kCpu || info.kind == DeviceKind::kOther) {
            uses.push_back({false, fmt::format("a device of kind '{}' is used only when named",
                                               name_of(info.kind))});
        } else if (is_taken) {
            uses.push_back({false, "a preferred one comes before it; used when named"});
        } else {
            is_taken = true;
            uses.push_back({true, "the first of the preferred kind"});
        }
    }
    return uses;
}

Result<size_t> choose_device(std::span<const DeviceInfo> devices, std::string_view name) {
    if (name.empty()) {
        return default_device(devices);
    }
    LEAT_ASSIGN_OR_RETURN(const size_t index, named_device(devices, name));
    const Tier tier = tier_of(devices[index]);
    if (tier.level == kNoTier) {
        return unsupported("Vulkan device {} '{}' lacks {}", index, devices[index].name,
                           tier.missing);
    }
    return index;
}

}  // namespace leat::vulkan
