// VulkanApi: a VkInstance with its entry points, and the validation layer's messages where asked
// for.
#pragma once

#include <functional>
#include <memory>
#include <string_view>
#include <vector>

#include "backends/vulkan/device/loader.h"

namespace leat::vulkan {

// Called by whatever thread makes the Vulkan call that a message is about; must not call Vulkan.
using MessageSink = std::function<void(std::string_view message)>;

struct VulkanApiOptions {
    // VK_LAYER_KHRONOS_validation and what it checks; warnings and errors go to `on_message`.
    bool is_validated = false;
    bool checks_synchronization = false;
    // GPU-assisted validation instead of the checks of calls: wants DeviceOptions::uses_fences.
    bool checks_on_device = false;
    MessageSink on_message;
};

// Immutable; safe to use from any thread. Everything made from it owns it.
class VulkanApi {
  public:
    // not_found where the validation layer is asked for and not installed.
    static Result<std::shared_ptr<const VulkanApi>> create(std::shared_ptr<const Loader> loader,
                                                           VulkanApiOptions options = {});

    VulkanApi(const VulkanApi&) = delete;
    VulkanApi& operator=(const VulkanApi&) = delete;
    ~VulkanApi();

    VkInstance handle() const { return handle_; }
    const InstanceCalls& calls() const { return calls_; }
    const Loader& loader() const { return *loader_; }
    Result<std::vector<VkPhysicalDevice>> physical_devices() const;

  private:
    VulkanApi(std::shared_ptr<const Loader> loader, VulkanApiOptions options);
    Status make();
    Status load_calls();
    Status listen();

    std::shared_ptr<const Loader> loader_;
    VulkanApiOptions options_;
    InstanceCalls calls_;
    VkInstance handle_ = nullptr;
    VkDebugUtilsMessengerEXT messenger_ = nullptr;
};

}  // namespace leat::vulkan
