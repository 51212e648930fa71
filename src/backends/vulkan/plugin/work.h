// VulkanWork: what one submission does, on the thread of its queue.
#pragma once

#include <cstdint>
#include <span>

#include "backends/vulkan/device/queue.h"

namespace leat::vulkan {

class VulkanWork {
  public:
    VulkanWork() = default;
    VulkanWork(const VulkanWork&) = delete;
    VulkanWork& operator=(const VulkanWork&) = delete;
    // Before the submission's point is reached.
    virtual ~VulkanWork() = default;

    // True: run() only submits commands, so it may be called while what it waits for is still in
    // flight on the device. Else everything that the queue did before has ended.
    virtual bool is_recorded() const { return false; }
    // False while an earlier run still uses what it needs. Called with the queues' lock held.
    virtual bool is_ready() const { return true; }
    // Returns the point of the device's queue that ends it, or 0 where all is done. Throws where it
    // fails. `waits` is empty unless is_recorded().
    virtual uint64_t run(std::span<const Queue::Wait> waits) = 0;
    // When the point that run() returned is reached, on the waiter's thread and without locks.
    virtual void finish() {}
};

}  // namespace leat::vulkan
