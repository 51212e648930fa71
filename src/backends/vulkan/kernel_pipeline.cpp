#include "backends/vulkan/kernel_pipeline.h"

#include <fmt/format.h>

#include "backends/vulkan/checked_spirv.h"
#include "backends/vulkan/device_info.h"
#include "backends/vulkan/glsl_compiler.h"
#include "backends/vulkan/shader_features.h"
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
    if (info.has_extension(VK_KHR_PUSH_DESCRIPTOR_EXTENSION_NAME)) {
        limits.max_window_texels = int64_t(own.maxTexelBufferElements);
        limits.window_alignment_bytes = int64_t(own.minTexelBufferOffsetAlignment);
    }
    limits.has_float16 = info.features12.shaderFloat16 != VK_FALSE;
    limits.has_float64 = info.features.shaderFloat64 != VK_FALSE;
    limits.has_int8 = info.features12.shaderInt8 != VK_FALSE;
    limits.has_int16 = info.features.shaderInt16 != VK_FALSE;
    limits.has_int64 = info.features.shaderInt64 != VK_FALSE;
    return limits;
}

Result<std::string> missing_features(const ShaderUse& shader, const KernelLimits& limits) {
    if (limits.has_every_type()) {
        return std::string();
    }
    if (shader.source.empty()) {
        LEAT_ASSIGN_OR_RETURN(const Shader found, find_shader(shader.name));
        return missing_features(found.words, limits);
    }
    LEAT_ASSIGN_OR_RETURN(const auto words, compile_glsl_once(shader.name, shader.source));
    return missing_features(*words, limits);
}

Status check_features(const ShaderUse& shader, const KernelLimits& limits) {
    LEAT_ASSIGN_OR_RETURN(const std::string missing, missing_features(shader, limits));
    if (missing.empty()) {
        return Status();
    }
    return unsupported("kernel '{}' needs {}, which the device lacks", shader.name, missing);
}

Result<OwnedPipeline> make_kernel_pipeline(const PipelineMaker& maker,
                                           const ShaderUse& shader,
                                           DiskCache* disk,
                                           bool checks_addresses) {
    std::shared_ptr<const SpirvWords> compiled;
    Shader found{shader.name, {}};
    if (shader.source.empty()) {
        LEAT_ASSIGN_OR_RETURN(found, find_shader(shader.name));
    } else {
        LEAT_ASSIGN_OR_RETURN(compiled, compile_glsl_once(shader.name, shader.source, disk));
        found.words = *compiled;
    }
    found.windows = shader.windows;
    if (!checks_addresses) {
        return maker.make(found, shader.constants);
    }
    Result<SpirvWords> checked = with_address_checks(found.words);
    if (!checked.ok()) {
        return std::move(checked).error().with_node(fmt::format("kernel '{}'", shader.name));
    }
    found.words = *checked;
    return maker.make(found, shader.constants);
}

Result<BoundPipeline> bind_kernel_pipeline(const PipelineMaker& maker,
                                           const ShaderUse& shader,
                                           VkPipeline pipeline) {
    BoundPipeline bound{pipeline, nullptr, shader.windows, shader.vector_windows};
    LEAT_ASSIGN_OR_RETURN(bound.layout, maker.layout_of(shader.windows));
    return bound;
}

}  // namespace leat::vulkan
