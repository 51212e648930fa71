#include "backends/vulkan/device/device_choice.h"

#include "backends/vulkan/device/tier.h"
#include "base/error.h"

namespace leat::vulkan {

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

}  // namespace leat::vulkan
