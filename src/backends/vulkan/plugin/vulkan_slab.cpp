#include "backends/vulkan/plugin/vulkan_slab.h"

#include <fmt/core.h>

#include <limits>
#include <utility>

#include "backends/queues/transfer.h"
#include "backends/vulkan/plugin/failure.h"
#include "base/round_up.h"

namespace leat::vulkan {
namespace {

Arena allocate(LazyDevice& device, int64_t bytes) {
    ArenaOptions options;
    options.allocation_bytes = device.settings().allocation_limit_bytes;
    options.is_never_mapped = !device.is_mapped();
    const std::shared_ptr<Device> opened = device.open().device;
    device.take_bytes(bytes);
    // Rounded up: kernels read the last elements of small types in words.
    Result<Arena> arena = Arena::allocate(opened, round_up(bytes, kArenaAlignmentBytes), options);
    if (!arena.ok()) {
        device.give_bytes(bytes);
    }
    return value_or_throw(std::move(arena));
}

Arena import(LazyDevice& device, void* memory, int64_t bytes) {
    return value_or_throw(Arena::import_host(
        device.open().device, std::span(static_cast<std::byte*>(memory), size_t(bytes))));
}

}  // namespace

VulkanSlab::VulkanSlab(LazyDevice& device, int64_t bytes)
    : device_(device), counted_bytes_(bytes), bytes_(bytes), arena_(allocate(device, bytes)) {}

VulkanSlab::VulkanSlab(LazyDevice& device, void* memory, int64_t bytes)
    : device_(device), counted_bytes_(0), bytes_(bytes), arena_(import(device, memory, bytes)) {}

VulkanSlab::~VulkanSlab() {
    device_.give_bytes(counted_bytes_);
}

int64_t VulkanSlab::bytes_together(int64_t offset_bytes) const {
    return arena_.is_mapped() ? int64_t(arena_.mapped_at(offset_bytes).size())
                              : arena_.buffer_at(offset_bytes).bytes;
}

std::byte* VulkanSlab::host_address(int64_t offset_bytes) const {
    return arena_.mapped_at(offset_bytes).data();
}

void VulkanSlab::write(int64_t offset_bytes, std::span<const std::byte> bytes) const {
    if (!arena_.is_mapped()) {
        OpenDevice& opened = device_.open();
        const std::lock_guard lock(opened.packing_mutex);
        const uint64_t point =
            value_or_throw(opened.packing.ring->upload(bytes, arena_, offset_bytes));
        throw_if(opened.packing.queue->wait(point, std::numeric_limits<int64_t>::max()).error());
        return;
    }
    arena_.write(offset_bytes, bytes);
}

const VulkanSlab& slab_of(LeatPlacement placement, int64_t bytes, const LazyDevice& device) {
    if (placement.slab == nullptr) {
        plugin::invalid_argument("a range without a slab");
    }
    const auto& slab = static_cast<const VulkanSlab&>(plugin::object_of(placement.slab));
    queues::check_range(placement.offset_bytes, bytes, slab.bytes());
    if (&slab.device() != &device) {
        plugin::invalid_argument(fmt::format("a range of '{}' in work for '{}'",
                                             slab.device().info().name, device.info().name));
    }
    return slab;
}

}  // namespace leat::vulkan
