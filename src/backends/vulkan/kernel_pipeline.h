// Pipelines and limits for kernels, from what they ask for and what the device is.
#pragma once

#include "backends/vulkan/kernel.h"
#include "backends/vulkan/pipeline.h"

namespace leat::vulkan {

KernelLimits kernel_limits(const DeviceInfo& info);

// not_found for a shader that is neither built in nor source text, invalid_argument for text that
// does not compile; thread-safe.
Result<OwnedPipeline> make_kernel_pipeline(const PipelineMaker& maker, const ShaderUse& shader);

}  // namespace leat::vulkan
