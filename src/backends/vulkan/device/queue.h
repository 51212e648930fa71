// Queue: a place for submits and the timeline of their completion. A point is the number of a
// submit, from 1; it is reached when the device has done that submit and all before it.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "backends/vulkan/device/device.h"
#include "backends/vulkan/device/owned.h"

namespace leat::vulkan {

// Safe to use from any thread.
class Queue {
  public:
    struct Wait {
        const Queue* queue = nullptr;
        uint64_t point = 0;
    };

    // `family` is one of the device's families(). Of two queues made for one family, only one may
    // submit at a time.
    static Result<std::shared_ptr<Queue>> create(std::shared_ptr<Device> device, uint32_t family);

    Queue(const Queue&) = delete;
    Queue& operator=(const Queue&) = delete;
    // Waits until the device has done everything.
    ~Queue();

    // One submit of command buffers that were recorded before; starts after `waits`, which must
    // have been submitted already (invalid_argument otherwise: an unsignalled wait would hold up
    // later submits too). With fences, waits for another queue are unsupported. No allocation with
    // timelines and at most 8 waits.
    Result<uint64_t> submit(std::span<const VkCommandBuffer> buffers,
                            std::span<const Wait> waits = {});
    uint64_t submitted() const;

    // The last point reached.
    Result<uint64_t> reached();
    // False where the time was over first. Blocks only this thread, and takes no CPU.
    Result<bool> wait(uint64_t point, int64_t timeout_ns);

    const std::shared_ptr<Device>& device() const { return device_; }
    uint32_t family() const { return family_; }

  private:
    struct Flight {
        uint64_t point = 0;
        OwnedFence fence;
    };

    Queue(std::shared_ptr<Device> device, uint32_t family);
    Status make_timeline();
    Status submit_with_timeline(std::span<const VkCommandBuffer> buffers,
                                std::span<const Wait> waits);
    Status submit_with_fence(std::span<const VkCommandBuffer> buffers);
    Result<OwnedFence> take_fence();
    Status retire_fences(int64_t timeout_ns);

    std::shared_ptr<Device> device_;
    uint32_t family_;
    VkQueue handle_ = nullptr;
    OwnedSemaphore timeline_;

    mutable std::mutex mutex_;
    uint64_t submitted_ = 0;
    // With fences only: what is in flight, in order.
    uint64_t retired_ = 0;
    std::deque<Flight> flights_;
    std::vector<OwnedFence> free_fences_;
};

}  // namespace leat::vulkan
