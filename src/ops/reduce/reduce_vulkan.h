// Reductions over axes as a kernel, for operators of other folders that are one.
#pragma once

#include <cstdint>

#include "backends/vulkan/kernel/kernel.h"
#include "ops/reduce/reduce.h"

namespace leat::vulkan {

// Writes input 0, `x`, reduced over the axes in the mask (bit i: axis i), to output 0, which is
// dense and not empty, of the same element type. unsupported where an invocation would have too
// many iterations for the device.
Status write_reduction(const TensorArg& x,
                       uint32_t axes_mask,
                       ReduceKind kind,
                       KernelWriter& writer);

}  // namespace leat::vulkan
