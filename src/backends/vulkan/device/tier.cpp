#include "backends/vulkan/device/tier.h"

#include <fmt/core.h>

#include <span>

namespace leat::vulkan {
namespace {

struct Requirement {
    bool is_met;
    std::string_view name;
};

// What is not met, separated by commas.
std::string unmet(std::span<const Requirement> requirements) {
    std::string text;
    for (const Requirement& one : requirements) {
        if (!one.is_met) {
            text += text.empty() ? "" : ", ";
            text += one.name;
        }
    }
    return text;
}

std::string unmet_of_tier0(const DeviceInfo& info) {
    if (info.properties.apiVersion < VK_API_VERSION_1_3) {
        return fmt::format("Vulkan 1.3 (it has {})", version_text(info.properties.apiVersion));
    }
    bool has_compute = false;
    for (const VkQueueFamilyProperties& family : info.queue_families) {
        has_compute = has_compute || (family.queueFlags & VK_QUEUE_COMPUTE_BIT) != 0;
    }
    const Requirement requirements[] = {
        {has_compute, "a queue that computes"},
        {info.features12.bufferDeviceAddress != VK_FALSE, "bufferDeviceAddress"},
        {info.features12.timelineSemaphore != VK_FALSE, "timelineSemaphore"},
        {info.features12.scalarBlockLayout != VK_FALSE, "scalarBlockLayout"},
        {info.features11.storageBuffer16BitAccess != VK_FALSE, "storageBuffer16BitAccess"},
        {info.features12.storageBuffer8BitAccess != VK_FALSE, "storageBuffer8BitAccess"},
        {info.features12.hostQueryReset != VK_FALSE, "hostQueryReset"},
        {info.features12.vulkanMemoryModel != VK_FALSE, "vulkanMemoryModel"},
        {info.features13.synchronization2 != VK_FALSE, "synchronization2"},
        {info.features13.maintenance4 != VK_FALSE, "maintenance4"},
        {info.features13.subgroupSizeControl != VK_FALSE, "subgroupSizeControl"},
    };
    return unmet(requirements);
}

std::string unmet_of_tier1(const DeviceInfo& info) {
    const bool has_clustered =
        (info.properties11.subgroupSupportedOperations & VK_SUBGROUP_FEATURE_CLUSTERED_BIT) != 0;
    const Requirement requirements[] = {
        {info.features12.shaderFloat16 != VK_FALSE, "shaderFloat16"},
        {info.features12.shaderInt8 != VK_FALSE, "shaderInt8"},
        {info.properties13.integerDotProduct4x8BitPackedSignedAccelerated != VK_FALSE,
         "accelerated 8-bit dot products"},
        {info.properties11.subgroupSize >= 16, "subgroups of 16 or more"},
        {has_clustered, "clustered subgroup operations"},
        {info.properties.limits.maxPushConstantsSize >= 256, "256 bytes of push constants"},
    };
    return unmet(requirements);
}

std::string unmet_of_tier2(const DeviceInfo& info) {
    const Requirement requirements[] = {
        {info.cooperative_matrix.cooperative_matrix != VK_FALSE, kCooperativeMatrixExtension},
        {!info.cooperative_matrix_shapes.empty(), "shapes of cooperative matrices"},
    };
    return unmet(requirements);
}

}  // namespace

Tier tier_of(const DeviceInfo& info) {
    using Unmet = std::string (*)(const DeviceInfo&);
    Tier tier;
    for (const Unmet unmet_of : {&unmet_of_tier0, &unmet_of_tier1, &unmet_of_tier2}) {
        tier.missing = unmet_of(info);
        if (!tier.missing.empty()) {
            break;
        }
        ++tier.level;
    }
    return tier;
}

}  // namespace leat::vulkan
