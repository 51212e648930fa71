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
        DefaultUse& use = uses.emplace_back();
        if (tier.level == kNoTier) {
            use.reason = fmt::format("lacks {}", tier.missing);
        } else if (info.kind == DeviceKind::kCpu || info.kind == DeviceKind::kOther) {
            use.reason =
                fmt::format("a device of kind '{}' is used only when named", name_of(info.kind));
        } else if (is_taken) {
            use.reason = "a preferred one comes before it; used when named";
        } else {
            use = {true, "the first of the preferred kind"};
            is_taken = true;
        }
    }
    return uses;
}

}  // namespace leat::vulkan
