#include "backends/vulkan/kernel_pipeline.h"

#include "backends/vulkan/device_info.h"
#include "backends/vulkan/glsl_compiler.h"
#include "base/error.h"

namespace leat::vulkan {

KernelLimits kernel_limits(const DeviceInfo& info) {
    KernelLimits limits;
    const VkPhysicalDeviceLimits& own = info.properties.limits;
    limits.is_cpu = info.properties.deviceType == VK_PHYSICAL_DEVICE_TYPE_CPU;
    limits.subgroup_size = info.properties11.subgroupSize;
    limits.max_workgroup_invocations = own.maxComputeWorkGroupInvocations;
    limits.shared_memory_bytes = own.maxComputeSharedMemorySize;
    for (size_t i = 0; i < limits.max_groups.size(); ++i) {
        limits.max_groups[i] = own.maxComputeWorkGroupCount[i];
    }
    return limits;
}

Result<OwnedPipeline> make_kernel_pipeline(const PipelineMaker& maker, const ShaderUse& shader) {
    if (!shader.source.empty()) {
        LEAT_ASSIGN_OR_RETURN(const auto words, compile_glsl_once(shader.name, shader.source));
        return maker.make({shader.name, *words}, shader.constants);
    }
    LEAT_ASSIGN_OR_RETURN(const Shader found, find_shader(shader.name));
    return maker.make(found, shader.constants);
}

}  // namespace leat::vulkan
