// Slabs of the host as arenas of a device.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "backends/vulkan/memory/arena.h"
#include "backends/vulkan/plugin/lazy_device.h"
#include "leat/plugin_backend.h"

namespace leat::vulkan {

// Reading it is safe from any thread.
class VulkanSlab final : public plugin::Slab {
  public:
    // Throws kLeatOutOfMemory.
    VulkanSlab(LazyDevice& device, int64_t bytes);
    // Borrows `memory`; throws where the device cannot use it.
    VulkanSlab(LazyDevice& device, void* memory, int64_t bytes);
    ~VulkanSlab() override;

    const Arena& arena() const { return arena_; }
    int64_t bytes() const { return bytes_; }
    LazyDevice& device() const { return device_; }
    // Bytes from the offset on that one transfer reaches.
    int64_t bytes_together(int64_t offset_bytes) const;
    // The host's address of a byte; null where the memory is not mapped.
    std::byte* host_address(int64_t offset_bytes) const;
    // Returns when the slab holds the bytes. Outside of any queue, which must not use the range.
    void write(int64_t offset_bytes, std::span<const std::byte> bytes) const;

  private:
    LazyDevice& device_;
    int64_t counted_bytes_;
    int64_t bytes_;
    Arena arena_;
};

// The slab of a range, checked. Throws where there is no such range, or it is another device's.
const VulkanSlab& slab_of(LeatPlacement placement, int64_t bytes, const LazyDevice& device);

}  // namespace leat::vulkan
