// Pipelines and limits for kernels, from what they ask for and what the device is.
#pragma once

#include <string>

#include "backends/vulkan/kernel/kernel.h"
#include "backends/vulkan/kernel/pipeline.h"
#include "backends/vulkan/record/window_binding.h"

namespace leat::vulkan {

KernelLimits kernel_limits(const DeviceInfo& info);
// Whether the tiles of kernels with cooperative matrices (shaders/matrix_tile.glsl) are whole
// numbers of these.
bool fits_tiles(const MatrixShape& shape);

// The features, separated by commas, that the shader needs and the device lacks; empty if there are
// none. Errors are those of make_kernel_pipeline(). Compiles source text only where the device
// lacks any feature.
Result<std::string> missing_features(const ShaderUse& shader, const KernelLimits& limits);

// unsupported, with the features, where the device lacks some that the shader needs.
Status check_features(const ShaderUse& shader, const KernelLimits& limits);

// not_found for a shader that is neither built in nor source text, invalid_argument for text that
// does not compile; thread-safe. Words of source text come from `disk` if they are there and go
// there otherwise; null: no cache. With `checks_addresses` the kernel wants a recording with rules;
// unsupported where it cannot be checked.
Result<OwnedPipeline> make_kernel_pipeline(const PipelineMaker& maker,
                                           const ShaderUse& shader,
                                           DiskCache* disk = nullptr,
                                           bool checks_addresses = false);

// A pipeline of the kernel with what its dispatches need; errors as PipelineMaker::layout_of().
Result<BoundPipeline> bind_kernel_pipeline(const PipelineMaker& maker,
                                           const ShaderUse& shader,
                                           VkPipeline pipeline);

}  // namespace leat::vulkan
