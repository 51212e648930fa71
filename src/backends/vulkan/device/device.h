// Device: a VkDevice with the features that the backend uses, its entry points and queue families.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string_view>

#include "backends/vulkan/device/device_info.h"
#include "backends/vulkan/device/entry_points.h"
#include "backends/vulkan/device/instance.h"
#include "backends/vulkan/device/owned.h"
#include "base/error.h"

namespace leat::vulkan {

struct OpenOptions {
    // Submits are followed by fences instead of a timeline semaphore: GPU-assisted validation of
    // 1.3.239 takes ten seconds for each wait on a timeline that submit2 signals.
    bool uses_fences = false;
};

// A place where submits go.
struct QueueFamilies {
    uint32_t compute = 0;
    std::optional<uint32_t> transfer;  // one that only copies
};
QueueFamilies choose_queue_families(const DeviceInfo& info);

// The calls are safe from any thread. Must outlive whatever is made on it, which therefore holds a
// shared_ptr to it.
class Device {
  public:
    // unsupported where the device is of no tier.
    static Result<std::shared_ptr<Device>> create(std::shared_ptr<const VulkanApi> instance,
                                                  const DeviceInfo& info,
                                                  OpenOptions options = {});

    Device(const Device&) = delete;
    Device& operator=(const Device&) = delete;
    ~Device();

    VkDevice handle() const { return handle_; }
    const DeviceInfo& info() const { return info_; }
    const DeviceCalls& calls() const { return calls_; }
    const OpenOptions& options() const { return options_; }
    const QueueFamilies& families() const { return families_; }
    bool can_import_host_memory() const {
        return calls_.GetMemoryHostPointerPropertiesEXT != nullptr;
    }

    bool can_bind_sparse() const;
    // Binds memory to a sparse buffer and waits until the device has done so, behind the work of
    // the compute queue.
    Status bind_sparse(VkBuffer buffer, std::span<const VkSparseMemoryBind> binds) const;
    // The result of a call that submits to a queue, which one thread does at a time; kDeviceLost
    // without the call if the device is lost.
    template <class Call>
    Status submit(std::string_view name, const Call& call) const {
        const std::lock_guard<std::mutex> lock(submit_mutex_);
        LEAT_RETURN_IF_ERROR(lost());
        return checked(call(), name);
    }

    // The result of a call as Status; a lost device is remembered.
    Status checked(VkResult result, std::string_view call) const noexcept;
    // One of the device's objects. The name of the call that creates it goes without "vk".
    template <class Handle, class Info, class Destroy>
    Result<Owned<Handle, Destroy>> make_owned(
        VkResult(VKAPI_PTR* create)(VkDevice, const Info*, const VkAllocationCallbacks*, Handle*),
        const Info& info,
        Destroy destroy,
        std::string_view call) const {
        Handle handle = nullptr;
        LEAT_RETURN_IF_ERROR(checked(create(handle_, &info, nullptr, &handle), call));
        return Owned<Handle, Destroy>(handle_, handle, destroy);
    }
    // kDeviceLost once any call has said so. Nothing more is submitted then.
    Status lost() const noexcept;

    // For tests: kDeviceLost, and lost from here on. What was submitted ends first, since a device
    // that is not really lost still reads what its users free then.
    Status lose() const;

    // For tests, before other threads use the device: what a failing driver would do.
    DeviceCalls& replaceable_calls() { return calls_; }

  private:
    Device(std::shared_ptr<const VulkanApi> instance, const DeviceInfo& info, OpenOptions options);
    Status make();
    Status load_calls();

    std::shared_ptr<const VulkanApi> instance_;
    DeviceInfo info_;
    OpenOptions options_;
    QueueFamilies families_;
    DeviceCalls calls_;
    VkDevice handle_ = nullptr;
    mutable std::mutex submit_mutex_;  // held during each call that submits
    mutable std::atomic<bool> is_lost_{false};
};

}  // namespace leat::vulkan
