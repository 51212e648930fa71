// What the host sees of a device: its memory, queues and links to the host.
#pragma once

#include <array>

#include "backends/vulkan/plugin/lazy_device.h"
#include "leat/plugin_backend.h"

namespace leat::vulkan {

// Never moves; the rows name each other.
class VulkanDeviceTable {
  public:
    // Queues are numbered from `first_queue` on. The device outlives it.
    VulkanDeviceTable(const LazyDevice& device, int32_t first_queue);
    VulkanDeviceTable(const VulkanDeviceTable&) = delete;
    VulkanDeviceTable& operator=(const VulkanDeviceTable&) = delete;

    const LeatDeviceInfo* row() const { return &device_; }

  private:
    void describe_memory(const LazyDevice& device);
    void describe_queues(const LazyDevice& device, int32_t first_queue);
    void describe_links(const LazyDevice& device);

    LeatDomainInfo domain_ = plugin::made<LeatDomainInfo>();
    std::array<LeatQueueInfo, kQueuesPerDevice> queues_{};
    std::array<LeatLinkInfo, 2> links_{};
    const LeatDomainInfo* domain_row_ = &domain_;
    std::array<const LeatQueueInfo*, kQueuesPerDevice> queue_rows_ = {queues_.data(), &queues_[1]};
    std::array<const LeatLinkInfo*, 2> link_rows_ = {links_.data(), &links_[1]};
    LeatDeviceInfo device_ = plugin::made<LeatDeviceInfo>();
};

}  // namespace leat::vulkan
