// Features and limits by their names in the API: a table.
#include "backends/vulkan/device/device_info.h"

namespace leat::vulkan {
namespace {

NamedFlag flag(std::string_view name, VkBool32 value) {
    return {name, value != VK_FALSE};
}
NamedNumber number(std::string_view name, uint64_t value) {
    return {name, value};
}

}  // namespace

std::vector<NamedFlag> feature_list(const DeviceInfo& info) {
#define LEAT_VK_FLAG(part, name) flag(#name, info.part.name)
    return {
        LEAT_VK_FLAG(features, robustBufferAccess),
        LEAT_VK_FLAG(features, pipelineStatisticsQuery),
        LEAT_VK_FLAG(features, shaderFloat64),
        LEAT_VK_FLAG(features, shaderInt64),
        LEAT_VK_FLAG(features, shaderInt16),
        LEAT_VK_FLAG(features, sparseBinding),
        LEAT_VK_FLAG(features, sparseResidencyBuffer),
        LEAT_VK_FLAG(features11, storageBuffer16BitAccess),
        LEAT_VK_FLAG(features11, uniformAndStorageBuffer16BitAccess),
        LEAT_VK_FLAG(features11, storagePushConstant16),
        LEAT_VK_FLAG(features11, variablePointersStorageBuffer),
        LEAT_VK_FLAG(features11, variablePointers),
        LEAT_VK_FLAG(features12, storageBuffer8BitAccess),
        LEAT_VK_FLAG(features12, uniformAndStorageBuffer8BitAccess),
        LEAT_VK_FLAG(features12, storagePushConstant8),
        LEAT_VK_FLAG(features12, shaderBufferInt64Atomics),
        LEAT_VK_FLAG(features12, shaderSharedInt64Atomics),
        LEAT_VK_FLAG(features12, shaderFloat16),
        LEAT_VK_FLAG(features12, shaderInt8),
        LEAT_VK_FLAG(features12, descriptorIndexing),
        LEAT_VK_FLAG(features12, scalarBlockLayout),
        LEAT_VK_FLAG(features12, shaderSubgroupExtendedTypes),
        LEAT_VK_FLAG(features12, hostQueryReset),
        LEAT_VK_FLAG(features12, timelineSemaphore),
        LEAT_VK_FLAG(features12, bufferDeviceAddress),
        LEAT_VK_FLAG(features12, vulkanMemoryModel),
        LEAT_VK_FLAG(features12, vulkanMemoryModelDeviceScope),
        LEAT_VK_FLAG(features12, subgroupBroadcastDynamicId),
        LEAT_VK_FLAG(features13, subgroupSizeControl),
        LEAT_VK_FLAG(features13, computeFullSubgroups),
        LEAT_VK_FLAG(features13, synchronization2),
        LEAT_VK_FLAG(features13, shaderIntegerDotProduct),
        LEAT_VK_FLAG(features13, maintenance4),
        flag("cooperativeMatrix", info.cooperative_matrix.cooperative_matrix),
        flag("shaderBFloat16Type", info.bfloat16.scalar),
        flag("shaderBFloat16DotProduct", info.bfloat16.dot_product),
        flag("shaderBFloat16CooperativeMatrix", info.bfloat16.cooperative_matrix),
    };
#undef LEAT_VK_FLAG
}

std::vector<NamedNumber> limit_list(const DeviceInfo& info) {
    const VkPhysicalDeviceLimits& limits = info.properties.limits;
#define LEAT_VK_LIMIT(part, name) number(#name, uint64_t((part).name))
    return {
        LEAT_VK_LIMIT(info.properties11, maxMemoryAllocationSize),
        LEAT_VK_LIMIT(info.properties13, maxBufferSize),
        LEAT_VK_LIMIT(limits, sparseAddressSpaceSize),
        LEAT_VK_LIMIT(limits, maxStorageBufferRange),
        LEAT_VK_LIMIT(limits, maxUniformBufferRange),
        LEAT_VK_LIMIT(limits, maxPushConstantsSize),
        LEAT_VK_LIMIT(limits, maxMemoryAllocationCount),
        LEAT_VK_LIMIT(limits, maxBoundDescriptorSets),
        LEAT_VK_LIMIT(limits, maxPerStageDescriptorStorageBuffers),
        LEAT_VK_LIMIT(limits, maxPerStageResources),
        LEAT_VK_LIMIT(limits, maxComputeSharedMemorySize),
        LEAT_VK_LIMIT(limits, maxComputeWorkGroupInvocations),
        LEAT_VK_LIMIT(limits, maxComputeWorkGroupCount[0]),
        LEAT_VK_LIMIT(limits, maxComputeWorkGroupCount[1]),
        LEAT_VK_LIMIT(limits, maxComputeWorkGroupCount[2]),
        LEAT_VK_LIMIT(limits, maxComputeWorkGroupSize[0]),
        LEAT_VK_LIMIT(limits, maxComputeWorkGroupSize[1]),
        LEAT_VK_LIMIT(limits, maxComputeWorkGroupSize[2]),
        LEAT_VK_LIMIT(limits, minMemoryMapAlignment),
        LEAT_VK_LIMIT(limits, minStorageBufferOffsetAlignment),
        LEAT_VK_LIMIT(limits, nonCoherentAtomSize),
        LEAT_VK_LIMIT(limits, timestampComputeAndGraphics),
        LEAT_VK_LIMIT(info.properties11, subgroupSize),
        LEAT_VK_LIMIT(info.properties11, subgroupSupportedStages),
        LEAT_VK_LIMIT(info.properties11, subgroupSupportedOperations),
        LEAT_VK_LIMIT(info.properties13, minSubgroupSize),
        LEAT_VK_LIMIT(info.properties13, maxSubgroupSize),
        LEAT_VK_LIMIT(info.properties13, maxComputeWorkgroupSubgroups),
        LEAT_VK_LIMIT(info.properties13, requiredSubgroupSizeStages),
        LEAT_VK_LIMIT(info.properties13, integerDotProduct4x8BitPackedSignedAccelerated),
        LEAT_VK_LIMIT(info.properties13, integerDotProduct4x8BitPackedUnsignedAccelerated),
        LEAT_VK_LIMIT(info.properties13, integerDotProduct4x8BitPackedMixedSignednessAccelerated),
        LEAT_VK_LIMIT(info.properties12, maxTimelineSemaphoreValueDifference),
        LEAT_VK_LIMIT(info.properties12, shaderSignedZeroInfNanPreserveFloat16),
        LEAT_VK_LIMIT(info.properties12, shaderSignedZeroInfNanPreserveFloat32),
        LEAT_VK_LIMIT(info.properties12, shaderDenormPreserveFloat16),
        LEAT_VK_LIMIT(info.properties12, shaderDenormPreserveFloat32),
        LEAT_VK_LIMIT(info.properties12, shaderDenormFlushToZeroFloat32),
        LEAT_VK_LIMIT(info.properties12, shaderRoundingModeRTEFloat16),
        LEAT_VK_LIMIT(info.properties12, shaderRoundingModeRTEFloat32),
        {"hostImportAlig"
         "nment",
         uint64_t(info.host_import_alignment_bytes)},
    };
#undef LEAT_VK_LIMIT
}

}  // namespace leat::vulkan
