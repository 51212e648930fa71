#include "backends/vulkan/memory/memory_types.h"

#include <algorithm>
#include <bit>
#include <utility>

namespace leat::vulkan {
namespace {

constexpr VkMemoryPropertyFlags kLocal = VK_MEMORY_PROPERTY_DEVICE_LOCAL_BIT;
constexpr VkMemoryPropertyFlags kVisible =
    VK_MEMORY_PROPERTY_HOST_VISIBLE_BIT | VK_MEMORY_PROPERTY_HOST_COHERENT_BIT;
constexpr VkMemoryPropertyFlags kCached = VK_MEMORY_PROPERTY_HOST_CACHED_BIT;
// Types with any other property are for images, protected content or debugging.
constexpr VkMemoryPropertyFlags kPlain = kLocal | kVisible | kCached;

struct Wish {
    VkMemoryPropertyFlags required = 0;
    VkMemoryPropertyFlags wanted = 0;
    VkMemoryPropertyFlags unwanted = 0;
};

Wish wish_for(const DeviceInfo& info, MemoryUse use) {
    switch (use) {
        case MemoryUse::kDevice:
            return is_unified(info) ? Wish{kLocal | kVisible, kCached, 0}
                                    : Wish{kLocal, 0, kVisible | kCached};
        case MemoryUse::kParameters:
            return {kVisible, kLocal, kCached};
        case MemoryUse::kUpload:
            return {kVisible, 0, kLocal | kCached};
        case MemoryUse::kReadback:
            return {kVisible, kCached, kLocal};
    }
    return {};
}

VkDeviceSize heap_bytes(const DeviceInfo& info, uint32_t type) {
    return info.memory.memoryHeaps[info.memory.memoryTypes[type].heapIndex].size;
}

}  // namespace

bool is_unified(const DeviceInfo& info) {
    if (info.kind != DeviceKind::kIntegrated && info.kind != DeviceKind::kCpu) {
        return false;
    }
    VkDeviceSize largest_local = 0;
    VkDeviceSize largest_visible = 0;
    for (uint32_t i = 0; i < info.memory.memoryTypeCount; ++i) {
        const VkMemoryPropertyFlags flags = info.memory.memoryTypes[i].propertyFlags;
        if ((flags & kLocal) != 0) {
            largest_local = std::max(largest_local, heap_bytes(info, i));
        }
        if ((flags & (kLocal | kVisible)) == (kLocal | kVisible)) {
            largest_visible = std::max(largest_visible, heap_bytes(info, i));
        }
    }
    return largest_visible > 0 && largest_visible == largest_local;
}

std::optional<uint32_t> choose_memory_type(const DeviceInfo& info,
                                           uint32_t allowed_types,
                                           MemoryUse use) {
    const Wish wish = wish_for(info, use);
    // Tensors go where there is room, so a small window of device memory comes last.
    using Rank = std::pair<VkDeviceSize, int>;
    std::optional<uint32_t> best;
    Rank best_rank;
    for (uint32_t i = 0; i < info.memory.memoryTypeCount; ++i) {
        const VkMemoryPropertyFlags flags = info.memory.memoryTypes[i].propertyFlags;
        const bool is_allowed = (allowed_types >> i & 1U) != 0;
        if (!is_allowed || (flags & ~kPlain) != 0 || (flags & wish.required) != wish.required) {
            continue;
        }
        const Rank rank{use == MemoryUse::kDevice ? heap_bytes(info, i) : 0,
                        std::popcount(flags & wish.wanted) - std::popcount(flags & wish.unwanted)};
        if (!best || rank > best_rank) {
            best = i;
            best_rank = rank;
        }
    }
    return best;
}

}  // namespace leat::vulkan
