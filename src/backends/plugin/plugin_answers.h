// What a backend says of devices, nodes and executables, checked before the host multiplies and
// adds it, or takes it for an index. Errors are kInternal: they are faults of the backend.
#pragma once

#include <string>

#include "base/error.h"
#include "leat/plugin.h"

namespace leat {

// Tables that are not null; sizes and times that are numbers, and alignments that are powers of
// two.
Status check_device(const LeatDeviceInfo& device);

// The estimate of a node, which may be 0 where nothing is known.
Status check_capability(const LeatNodeCapability& capability);
// Why the node is refused; never empty. Precondition: it is.
std::string reason_for_refusal(const LeatNodeCapability& capability);

// An executable for the graph: packed constants are values of it, with sizes that there are.
Status check_executable(const LeatExecutableInfo& info, const LeatGraphView& graph);

// What a part with so many outputs needs: sizes that there are, and steps that exist.
Status check_requirements(const LeatRequirements& table, int32_t output_count);

}  // namespace leat
