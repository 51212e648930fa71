// Owned: a handle made on a device, destroyed with its owner.
#pragma once

#include <utility>

#include "backends/vulkan/device/vulkan_headers.h"

namespace leat::vulkan {

// `Destroy` is the type of the entry point that ends the handle. The device must outlive it.
template <class Handle, class Destroy>
class Owned {
  public:
    Owned() = default;
    Owned(VkDevice device, Handle handle, Destroy destroy)
        : device_(device), handle_(handle), destroy_(destroy) {}
    Owned(Owned&& other) noexcept
        : device_(other.device_),
          handle_(std::exchange(other.handle_, nullptr)),
          destroy_(other.destroy_) {}
    Owned& operator=(Owned&& other) noexcept {
        if (this != &other) {
            reset();
            device_ = other.device_;
            handle_ = std::exchange(other.handle_, nullptr);
            destroy_ = other.destroy_;
        }
        return *this;
    }
    ~Owned() { reset(); }

    Handle get() const { return handle_; }
    explicit operator bool() const { return handle_ != nullptr; }
    void reset() {
        if (handle_ != nullptr) {
            destroy_(device_, handle_, nullptr);
            handle_ = nullptr;
        }
    }

  private:
    VkDevice device_ = nullptr;
    Handle handle_ = nullptr;
    Destroy destroy_ = nullptr;
};

using OwnedBuffer = Owned<VkBuffer, PFN_vkDestroyBuffer>;
using OwnedBufferView = Owned<VkBufferView, PFN_vkDestroyBufferView>;
using OwnedCommandPool = Owned<VkCommandPool, PFN_vkDestroyCommandPool>;
using OwnedDescriptorSetLayout = Owned<VkDescriptorSetLayout, PFN_vkDestroyDescriptorSetLayout>;
using OwnedFence = Owned<VkFence, PFN_vkDestroyFence>;
using OwnedMemory = Owned<VkDeviceMemory, PFN_vkFreeMemory>;
using OwnedPipeline = Owned<VkPipeline, PFN_vkDestroyPipeline>;
using OwnedPipelineCache = Owned<VkPipelineCache, PFN_vkDestroyPipelineCache>;
using OwnedPipelineLayout = Owned<VkPipelineLayout, PFN_vkDestroyPipelineLayout>;
using OwnedQueryPool = Owned<VkQueryPool, PFN_vkDestroyQueryPool>;
using OwnedSemaphore = Owned<VkSemaphore, PFN_vkDestroySemaphore>;
using OwnedShaderModule = Owned<VkShaderModule, PFN_vkDestroyShaderModule>;

}  // namespace leat::vulkan
