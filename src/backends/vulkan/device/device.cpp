#include "backends/vulkan/device/device.h"

#include <limits>
#include <utility>

#include "backends/vulkan/device/call_result.h"
#include "backends/vulkan/device/tier.h"
#include "base/error.h"

namespace leat::vulkan {
namespace {

// What is enabled: tier 0, and of the rest what kernels use where the device has it.
struct EnabledFeatures {
    VkPhysicalDeviceFeatures2 core{};
    VkPhysicalDeviceVulkan11Features v11{};
    VkPhysicalDeviceVulkan12Features v12{};
    VkPhysicalDeviceVulkan13Features v13{};
    CooperativeMatrixFeatures cooperative_matrix;
    Bfloat16Features bfloat16;
    std::vector<const char*> extensions;

    explicit EnabledFeatures(const DeviceInfo& info);
    EnabledFeatures(const EnabledFeatures&) = delete;
    EnabledFeatures& operator=(const EnabledFeatures&) = delete;

  private:
    void enable_extensions(const DeviceInfo& info);
};

EnabledFeatures::EnabledFeatures(const DeviceInfo& info) {
    core.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_FEATURES_2;
    core.pNext = &v11;
    core.features.shaderInt64 = info.features.shaderInt64;
    core.features.shaderInt16 = info.features.shaderInt16;
    core.features.shaderFloat64 = info.features.shaderFloat64;
    core.features.sparseBinding = info.features.sparseBinding;
    v11.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_1_FEATURES;
    v11.pNext = &v12;
    v11.storageBuffer16BitAccess = VK_TRUE;
    v12.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_2_FEATURES;
    v12.pNext = &v13;
    v12.bufferDeviceAddress = VK_TRUE;
    v12.timelineSemaphore = VK_TRUE;
    v12.scalarBlockLayout = VK_TRUE;
    v12.storageBuffer8BitAccess = VK_TRUE;
    v12.hostQueryReset = VK_TRUE;
    v12.vulkanMemoryModel = VK_TRUE;
    v12.vulkanMemoryModelDeviceScope = info.features12.vulkanMemoryModelDeviceScope;
    v12.shaderFloat16 = info.features12.shaderFloat16;
    v12.shaderInt8 = info.features12.shaderInt8;
    v12.shaderSubgroupExtendedTypes = info.features12.shaderSubgroupExtendedTypes;
    v12.shaderBufferInt64Atomics = info.features12.shaderBufferInt64Atomics;
    v13.sType = VK_STRUCTURE_TYPE_PHYSICAL_DEVICE_VULKAN_1_3_FEATURES;
    v13.synchronization2 = VK_TRUE;
    v13.maintenance4 = VK_TRUE;
    v13.subgroupSizeControl = VK_TRUE;
    v13.computeFullSubgroups = info.features13.computeFullSubgroups;
    v13.shaderIntegerDotProduct = info.features13.shaderIntegerDotProduct;
    enable_extensions(info);
}

void EnabledFeatures::enable_extensions(const DeviceInfo& info) {
    void** next = &v13.pNext;
    extensions.reserve(5);
    if (info.cooperative_matrix.cooperative_matrix != VK_FALSE) {
        cooperative_matrix.cooperative_matrix = VK_TRUE;
        extensions.push_back(kCooperativeMatrixExtension);
        *next = &cooperative_matrix;
        next = &cooperative_matrix.next;
    }
    if (info.bfloat16.scalar != VK_FALSE) {
        bfloat16 = info.bfloat16;
        bfloat16.next = nullptr;
        extensions.push_back(kBfloat16Extension);
        *next = &bfloat16;
    }
    if (info.host_import_alignment_bytes > 0) {
        extensions.push_back(VK_EXT_EXTERNAL_MEMORY_HOST_EXTENSION_NAME);
    }
    for (const char* name :
         {VK_EXT_CALIBRATED_TIMESTAMPS_EXTENSION_NAME, VK_KHR_PUSH_DESCRIPTOR_EXTENSION_NAME}) {
        if (info.has_extension(name)) {
            extensions.push_back(name);
        }
    }
}

}  // namespace

QueueFamilies choose_queue_families(const DeviceInfo& info) {
    QueueFamilies chosen;
    bool has_compute = false;
    bool is_compute_only = false;
    for (uint32_t i = 0; i < info.queue_families.size(); ++i) {
        const VkQueueFlags flags = info.queue_families[i].queueFlags;
        const bool computes = (flags & VK_QUEUE_COMPUTE_BIT) != 0;
        const bool draws = (flags & VK_QUEUE_GRAPHICS_BIT) != 0;
        // A family without graphics does not share its engine with a desktop.
        if (computes && (!has_compute || (!draws && !is_compute_only))) {
            chosen.compute = i;
            has_compute = true;
            is_compute_only = !draws;
        }
        if (!computes && !draws && (flags & VK_QUEUE_TRANSFER_BIT) != 0 && !chosen.transfer) {
            chosen.transfer = i;
        }
    }
    return chosen;
}

Device::Device(std::shared_ptr<const VulkanApi> instance,
               const DeviceInfo& info,
               OpenOptions options)
    : instance_(std::move(instance)),
      info_(info),
      options_(options),
      families_(choose_queue_families(info)) {}

Result<std::shared_ptr<Device>> Device::create(std::shared_ptr<const VulkanApi> instance,
                                               const DeviceInfo& info,
                                               OpenOptions options) {
    const Tier tier = tier_of(info);
    if (tier.level == kNoTier) {
        return unsupported("Vulkan device '{}' lacks {}", info.name, tier.missing);
    }
    std::shared_ptr<Device> device(new Device(std::move(instance), info, options));
    LEAT_RETURN_IF_ERROR(device->make());
    LEAT_RETURN_IF_ERROR(device->load_calls());
    return device;
}

Device::~Device() {
    if (handle_ != nullptr && calls_.DestroyDevice != nullptr) {
        calls_.DestroyDevice(handle_, nullptr);
    }
}

Status Device::make() {
    const float priority = 1.0F;
    VkDeviceQueueCreateInfo queues[2] = {};
    for (VkDeviceQueueCreateInfo& queue : queues) {
        queue.sType = VK_STRUCTURE_TYPE_DEVICE_QUEUE_CREATE_INFO;
        queue.queueCount = 1;
        queue.pQueuePriorities = &priority;
    }
    queues[0].queueFamilyIndex = families_.compute;
    queues[1].queueFamilyIndex = families_.transfer.value_or(0);
    const EnabledFeatures enabled(info_);
    VkDeviceCreateInfo info{};
    info.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO;
    info.pNext = &enabled.core;
    info.queueCreateInfoCount = families_.transfer ? 2 : 1;
    info.pQueueCreateInfos = queues;
    info.enabledExtensionCount = uint32_t(enabled.extensions.size());
    info.ppEnabledExtensionNames = enabled.extensions.data();
    return to_status(instance_->calls().CreateDevice(info_.handle, &info, nullptr, &handle_),
                     "CreateDevice");
}

Status Device::load_calls() {
    const PFN_vkGetDeviceProcAddr get = instance_->calls().GetDeviceProcAddr;
#define LEAT_VK_LOAD(name) calls_.name = reinterpret_cast<PFN_vk##name>(get(handle_, "vk" #name));
    LEAT_VK_DEVICE_CALLS(LEAT_VK_LOAD)
    LEAT_VK_OPTIONAL_DEVICE_CALLS(LEAT_VK_LOAD)
#undef LEAT_VK_LOAD
    const char* missing = nullptr;
#define LEAT_VK_REQUIRE(name)     \
    if (calls_.name == nullptr) { \
        missing = "vk" #name;     \
    }
    LEAT_VK_DEVICE_CALLS(LEAT_VK_REQUIRE)
#undef LEAT_VK_REQUIRE
    if (missing != nullptr) {
        return make_error(StatusCode::kVersionMismatch, "Vulkan device '{}' lacks {}", info_.name,
                          missing);
    }
    return Status();
}

bool Device::can_bind_sparse() const {
    const VkQueueFlags flags = info_.queue_families[families_.compute].queueFlags;
    return info_.features.sparseBinding != VK_FALSE && (flags & VK_QUEUE_SPARSE_BINDING_BIT) != 0;
}

Status Device::bind_sparse(VkBuffer buffer, std::span<const VkSparseMemoryBind> binds) const {
    VkFenceCreateInfo fence_info{};
    fence_info.sType = VK_STRUCTURE_TYPE_FENCE_CREATE_INFO;
    LEAT_ASSIGN_OR_RETURN(const OwnedFence fence, make_owned(calls_.CreateFence, fence_info,
                                                             calls_.DestroyFence, "CreateFence"));
    const VkFence handle = fence.get();
    const VkSparseBufferMemoryBindInfo bound{buffer, uint32_t(binds.size()), binds.data()};
    VkBindSparseInfo info{};
    info.sType = VK_STRUCTURE_TYPE_BIND_SPARSE_INFO;
    info.bufferBindCount = 1;
    info.pBufferBinds = &bound;
    VkQueue queue = nullptr;
    calls_.GetDeviceQueue(handle_, families_.compute, 0, &queue);
    LEAT_RETURN_IF_ERROR(
        submit("QueueBindSparse", [&] { return calls_.QueueBindSparse(queue, 1, &info, handle); }));
    return checked(
        calls_.WaitForFences(handle_, 1, &handle, VK_TRUE, std::numeric_limits<uint64_t>::max()),
        "WaitForFences");
}

Status Device::checked(VkResult result, std::string_view call) const noexcept {
    if (result == VK_ERROR_DEVICE_LOST) {
        is_lost_.store(true, std::memory_order_release);
    }
    return to_status(result, call);
}

Status Device::lose() const {
    const std::lock_guard lock(submit_mutex_);
    (void)calls_.DeviceWaitIdle(handle_);
    return checked(VK_ERROR_DEVICE_LOST, "a planned fault");
}

Status Device::lost() const noexcept {
    if (!is_lost_.load(std::memory_order_acquire)) {
        return Status();
    }
    return make_error(StatusCode::kDeviceLost, "Vulkan device '{}' was lost", info_.name);
}

}  // namespace leat::vulkan
