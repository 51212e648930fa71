// The entry points that the backend calls, as tables X(Name) without the prefix "vk". A device's
// table is filled for that device, so that a call does not pass through the loader's dispatch;
// tests put functions of their own into it to make a device fail.
#pragma once

#include "backends/vulkan/device/vulkan_headers.h"

#define LEAT_VK_GLOBAL_CALLS(X)             \
    X(CreateInstance)                       \
    X(EnumerateInstanceExtensionProperties) \
    X(EnumerateInstanceLayerProperties)

#define LEAT_VK_INSTANCE_CALLS(X)         \
    X(CreateDevice)                       \
    X(DestroyInstance)                    \
    X(EnumerateDeviceExtensionProperties) \
    X(EnumeratePhysicalDevices)           \
    X(GetDeviceProcAddr)                  \
    X(GetPhysicalDeviceFeatures2)         \
    X(GetPhysicalDeviceMemoryProperties2) \
    X(GetPhysicalDeviceProperties)        \
    X(GetPhysicalDeviceProperties2)       \
    X(GetPhysicalDeviceQueueFamilyProperties)

// Null where the instance lacks the extension.
#define LEAT_VK_OPTIONAL_INSTANCE_CALLS(X) \
    X(CreateDebugUtilsMessengerEXT)        \
    X(DestroyDebugUtilsMessengerEXT)

#define LEAT_VK_DEVICE_CALLS(X)    \
    X(AllocateCommandBuffers)      \
    X(AllocateMemory)              \
    X(BeginCommandBuffer)          \
    X(BindBufferMemory)            \
    X(CmdBindPipeline)             \
    X(CmdCopyBuffer)               \
    X(CmdDispatch)                 \
    X(CmdFillBuffer)               \
    X(CmdPipelineBarrier2)         \
    X(CmdPushConstants)            \
    X(CmdWriteTimestamp2)          \
    X(CreateBuffer)                \
    X(CreateBufferView)            \
    X(CreateCommandPool)           \
    X(CreateComputePipelines)      \
    X(CreateDescriptorSetLayout)   \
    X(CreateFence)                 \
    X(CreatePipelineCache)         \
    X(CreatePipelineLayout)        \
    X(CreateQueryPool)             \
    X(CreateSemaphore)             \
    X(CreateShaderModule)          \
    X(DestroyBuffer)               \
    X(DestroyBufferView)           \
    X(DestroyCommandPool)          \
    X(DestroyDescriptorSetLayout)  \
    X(DestroyDevice)               \
    X(DestroyFence)                \
    X(DestroyPipelineCache)        \
    X(DestroyPipeline)             \
    X(DestroyPipelineLayout)       \
    X(DestroyQueryPool)            \
    X(DestroySemaphore)            \
    X(DestroyShaderModule)         \
    X(DeviceWaitIdle)              \
    X(EndCommandBuffer)            \
    X(FreeMemory)                  \
    X(GetBufferDeviceAddress)      \
    X(GetBufferMemoryRequirements) \
    X(GetDeviceQueue)              \
    X(GetFenceStatus)              \
    X(GetPipelineCacheData)        \
    X(GetQueryPoolResults)         \
    X(GetSemaphoreCounterValue)    \
    X(MapMemory)                   \
    X(QueueBindSparse)             \
    X(QueueSubmit)                 \
    X(QueueSubmit2)                \
    X(ResetFences)                 \
    X(ResetQueryPool)              \
    X(WaitForFences)               \
    X(WaitSemaphores)

// Null where the device lacks the extension.
#define LEAT_VK_OPTIONAL_DEVICE_CALLS(X) \
    X(CmdPushDescriptorSetKHR)           \
    X(GetCalibratedTimestampsEXT)        \
    X(GetMemoryHostPointerPropertiesEXT)

namespace leat::vulkan {

#define LEAT_VK_MEMBER(name) PFN_vk##name name = nullptr;
struct GlobalCalls {
    LEAT_VK_GLOBAL_CALLS(LEAT_VK_MEMBER)
};
struct InstanceCalls {
    LEAT_VK_INSTANCE_CALLS(LEAT_VK_MEMBER)
    LEAT_VK_OPTIONAL_INSTANCE_CALLS(LEAT_VK_MEMBER)
    GetCooperativeMatrixProperties GetPhysicalDeviceCooperativeMatrixPropertiesKHR = nullptr;
};
struct DeviceCalls {
    LEAT_VK_DEVICE_CALLS(LEAT_VK_MEMBER)
    LEAT_VK_OPTIONAL_DEVICE_CALLS(LEAT_VK_MEMBER)
};
#undef LEAT_VK_MEMBER

}  // namespace leat::vulkan
