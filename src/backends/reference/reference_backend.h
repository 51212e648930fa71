// The reference backend: every operator's plain loops, one tile a node. Slow; the oracle of the
// tests.
#pragma once

#include "backends/backend.h"

namespace leat {

const Backend& reference_backend();

// Why no reference kernel can run the node; empty if one can.
std::string reference_refusal(const NodeData& node);

// Wraps the node's reference kernel and its epilogue steps. Arguments that are not row-major are
// copied through scratch, so any layout works. For other backends that have no kernel of their own,
// too.
Result<std::unique_ptr<HostKernel>> make_reference_kernel(PrepareContext& context);

}  // namespace leat
