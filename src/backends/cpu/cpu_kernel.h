// The table of CPU kernels: each operator's folder lists factories, best first.
#pragma once

#include <memory>
#include <span>
#include <string_view>

#include "backends/host_kernel.h"

namespace leat::cpu {

using CpuKernel = HostKernel;
using leat::KernelArgs;
using leat::PrepareContext;

// The kernel; null when this factory does not cover the node (dtype, rank, attributes): the backend
// then tries the next entry and at last the reference kernel.
using CpuKernelFactory = Result<std::unique_ptr<CpuKernel>> (*)(PrepareContext& context);

struct CpuKernelEntry {
    std::string_view op_type;
    CpuKernelFactory make;
};

// Kernels of all operators, generated from src/ops/meson.build. First match that covers the node
// wins.
std::span<const std::span<const CpuKernelEntry>> all_cpu_kernels();

}  // namespace leat::cpu
