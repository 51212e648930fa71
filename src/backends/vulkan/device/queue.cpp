#include "backends/vulkan/device/queue.h"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include "base/error.h"
#include "base/monotonic_clock.h"

namespace leat::vulkan {
namespace {

constexpr size_t kMaxWaits = 8;
// With fences the lock is held while waiting, so submits of other threads wait as long.
constexpr int64_t kFenceSliceNs = 1'000'000;

VkSemaphoreSubmitInfo semaphore_info(VkSemaphore semaphore, uint64_t value) {
    VkSemaphoreSubmitInfo info{};
    info.sType = VK_STRUCTURE_TYPE_SEMAPHORE_SUBMIT_INFO;
    info.semaphore = semaphore;
    info.value = value;
    info.stageMask = VK_PIPELINE_STAGE_2_ALL_COMMANDS_BIT;
    return info;
}

}  // namespace

Queue::Queue(std::shared_ptr<Device> device, uint32_t family)
    : device_(std::move(device)), family_(family) {
    device_->calls().GetDeviceQueue(device_->handle(), family, 0, &handle_);
}

Result<std::shared_ptr<Queue>> Queue::create(std::shared_ptr<Device> device, uint32_t family) {
    std::shared_ptr<Queue> queue(new Queue(std::move(device), family));
    if (!queue->device_->options().uses_fences) {
        LEAT_RETURN_IF_ERROR(queue->make_timeline());
    }
    return queue;
}

Queue::~Queue() {
    // A lost device has nothing left to do.
    (void)wait(submitted(), std::numeric_limits<int64_t>::max());
}

Status Queue::make_timeline() {
    VkSemaphoreTypeCreateInfo type{};
    type.sType = VK_STRUCTURE_TYPE_SEMAPHORE_TYPE_CREATE_INFO;
    type.semaphoreType = VK_SEMAPHORE_TYPE_TIMELINE;
    VkSemaphoreCreateInfo info{};
    info.sType = VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO;
    info.pNext = &type;
    const DeviceCalls& vk = device_->calls();
    LEAT_ASSIGN_OR_RETURN(timeline_, device_->make_owned(vk.CreateSemaphore, info,
                                                         vk.DestroySemaphore, "CreateSemaphore"));
    return Status();
}

Result<uint64_t> Queue::submit(std::span<const VkCommandBuffer> buffers,
                               std::span<const Wait> waits) {
    if (waits.size() > kMaxWaits) {
        return invalid_argument("a submit waits for {} points; at most {} are possible",
                                waits.size(), kMaxWaits);
    }
    for (const Wait& wait : waits) {
        if (wait.point > wait.queue->submitted()) {
            return invalid_argument("a submit waits for point {} of a queue", wait.point)
                .with_found(fmt::format("{} submits on it", wait.queue->submitted()))
                .with_needed("a point that was submitted before");
        }
    }
    const std::lock_guard<std::mutex> lock(mutex_);
    if (device_->options().uses_fences) {
        const bool is_own = std::all_of(waits.begin(), waits.end(),
                                        [&](const Wait& wait) { return wait.queue == this; });
        if (!is_own) {
            return unsupported("with fences a submit cannot wait for another queue");
        }
        LEAT_RETURN_IF_ERROR(submit_with_fence(buffers));
    } else {
        LEAT_RETURN_IF_ERROR(submit_with_timeline(buffers, waits));
    }
    return ++submitted_;
}

uint64_t Queue::submitted() const {
    const std::lock_guard<std::mutex> lock(mutex_);
    return submitted_;
}

Status Queue::submit_with_timeline(std::span<const VkCommandBuffer> buffers,
                                   std::span<const Wait> waits) {
    constexpr size_t kMaxBuffers = 8;
    if (buffers.size() > kMaxBuffers) {
        return invalid_argument("a submit of {} command buffers; at most {} are possible",
                                buffers.size(), kMaxBuffers);
    }
    std::array<VkCommandBufferSubmitInfo, kMaxBuffers> buffer_infos{};
    for (size_t i = 0; i < buffers.size(); ++i) {
        buffer_infos[i].sType = VK_STRUCTURE_TYPE_COMMAND_BUFFER_SUBMIT_INFO;
        buffer_infos[i].commandBuffer = buffers[i];
    }
    std::array<VkSemaphoreSubmitInfo, kMaxWaits> wait_infos{};
    for (size_t i = 0; i < waits.size(); ++i) {
        wait_infos[i] = semaphore_info(waits[i].queue->timeline_.get(), waits[i].point);
    }
    const VkSemaphoreSubmitInfo signal = semaphore_info(timeline_.get(), submitted_ + 1);
    VkSubmitInfo2 info{};
    info.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO_2;
    info.waitSemaphoreInfoCount = uint32_t(waits.size());
    info.pWaitSemaphoreInfos = wait_infos.data();
    info.commandBufferInfoCount = uint32_t(buffers.size());
    info.pCommandBufferInfos = buffer_infos.data();
    info.signalSemaphoreInfoCount = 1;
    info.pSignalSemaphoreInfos = &signal;
    return device_->submit(
        "QueueSubmit2", [&] { return device_->calls().QueueSubmit2(handle_, 1, &info, nullptr); });
}

Result<OwnedFence> Queue::take_fence() {
    const DeviceCalls& vk = device_->calls();
    if (!free_fences_.empty()) {
        OwnedFence fence = std::move(free_fences_.back());
        free_fences_.pop_back();
        const VkFence handle = fence.get();
        LEAT_RETURN_IF_ERROR(
            device_->checked(vk.ResetFences(device_->handle(), 1, &handle), "ResetFences"));
        return fence;
    }
    VkFenceCreateInfo info{};
    info.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO;
    return device_->make_owned(vk.CreateFence, info, vk.DestroyFence, "CreateFence");
}

Status Queue::submit_with_fence(std::span<const VkCommandBuffer> buffers) {
    LEAT_ASSIGN_OR_RETURN(OwnedFence fence, take_fence());
    // Before the device has it, because who retires it later may not fail for lack of memory.
    free_fences_.reserve(free_fences_.size() + flights_.size() + 1);
    flights_.push_back({submitted_ + 1, std::move(fence)});
    VkSubmitInfo info{};
    info.sType = VK_STRUCTURE_TYPE_SUBMIT_INFO;
    info.commandBufferCount = uint32_t(buffers.size());
    info.pCommandBuffers = buffers.data();
    Status status = device_->submit("QueueSubmit", [&] {
        return device_->calls().QueueSubmit(handle_, 1, &info, flights_.back().fence.get());
    });
    if (!status.ok()) {
        flights_.pop_back();
    }
    return status;
}

Status Queue::retire_fences(int64_t timeout_ns) {
    while (!flights_.empty()) {
        const VkFence fence = flights_.front().fence.get();
        const VkResult result = device_->calls().WaitForFences(device_->handle(), 1, &fence,
                                                               VK_TRUE, uint64_t(timeout_ns));
        if (result == VK_TIMEOUT) {
            return Status();
        }
        LEAT_RETURN_IF_ERROR(device_->checked(result, "WaitForFences"));
        retired_ = flights_.front().point;
        free_fences_.push_back(std::move(flights_.front().fence));
        flights_.pop_front();
        timeout_ns = 0;
    }
    return Status();
}

Result<uint64_t> Queue::reached() {
    LEAT_RETURN_IF_ERROR(device_->lost());
    if (device_->options().uses_fences) {
        const std::lock_guard<std::mutex> lock(mutex_);
        LEAT_RETURN_IF_ERROR(retire_fences(0));
        return retired_;
    }
    uint64_t value = 0;
    LEAT_RETURN_IF_ERROR(device_->checked(
        device_->calls().GetSemaphoreCounterValue(device_->handle(), timeline_.get(), &value),
        "GetSemaphoreCounterValue"));
    return value;
}

Result<bool> Queue::wait(uint64_t point, int64_t timeout_ns) {
    LEAT_RETURN_IF_ERROR(device_->lost());
    if (!device_->options().uses_fences) {
        const VkSemaphore semaphore = timeline_.get();
        VkSemaphoreWaitInfo info{};
        info.sType = VK_STRUCTURE_TYPE_SEMAPHORE_WAIT_INFO;
        info.semaphoreCount = 1;
        info.pSemaphores = &semaphore;
        info.pValues = &point;
        const VkResult result =
            device_->calls().WaitSemaphores(device_->handle(), &info, uint64_t(timeout_ns));
        if (result == VK_TIMEOUT) {
            return false;
        }
        LEAT_RETURN_IF_ERROR(device_->checked(result, "WaitSemaphores"));
        return true;
    }
    const int64_t begin_ns = monotonic_ns();
    while (true) {
        const std::lock_guard<std::mutex> lock(mutex_);
        LEAT_RETURN_IF_ERROR(retire_fences(std::min(kFenceSliceNs, timeout_ns)));
        if (retired_ >= point) {
            return true;
        }
        if (monotonic_ns() - begin_ns >= timeout_ns) {
            return false;
        }
    }
}

}  // namespace leat::vulkan
