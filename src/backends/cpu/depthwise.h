// Depthwise convolution of f32 with channels innermost: every channel has its own kernel.
#pragma once

#include "backends/cpu/cpu_kernel.h"
#include "backends/cpu/epilogue.h"
#include "ops/conv/conv.h"

namespace leat::cpu {

// One input and one output channel a group, channels innermost in x and y.
bool covers_depthwise(const ConvGeometry& geometry, const TensorArg& x, const TensorArg& y);

// Precondition: covers_depthwise, constant weights.
Result<std::unique_ptr<CpuKernel>> make_depthwise(PrepareContext& context,
                                                  const ConvGeometry& geometry,
                                                  Epilogue epilogue);

// The kernel of the same node for another batch, or null where the former one is of no use.
// Precondition: only_batch_differs.
std::unique_ptr<CpuKernel> remake_depthwise(PrepareContext& context);

}  // namespace leat::cpu
