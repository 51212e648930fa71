// Kernels of custom operators on the host.
#pragma once

#include <memory>

#include "backends/host_kernel.h"

namespace leat::custom {

// The kernel of "cpu", in its tiles. Precondition: the node is one of a custom operator with a
// kernel on the host.
Result<std::unique_ptr<HostKernel>> make_custom_kernel(PrepareContext& context);
// OpDef::reference of such an operator: that of "reference", all tiles in one call.
Status run_custom_reference(const ReferenceArgs& args);

}  // namespace leat::custom
