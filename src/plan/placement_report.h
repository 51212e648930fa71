// The report of a placement.
#pragma once

#include <memory>
#include <span>

#include "graph/inference.h"
#include "machine/device_part.h"
#include "plan/placement.h"

namespace leat {

// graph: after the passes, before parts were cut out. parts: by cluster. facts: of a plan, by
// value; empty: there is none, and extents that the graph leaves open count as 1.
GraphPlacement report_placement(const Placement& placement,
                                const GraphData& graph,
                                const GraphData& cut,
                                std::span<const std::shared_ptr<const DevicePart>> parts,
                                std::span<const std::shared_ptr<const ValueFact>> facts);

}  // namespace leat
