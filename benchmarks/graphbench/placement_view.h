// Where nodes run and why, as text and as JSON.
#pragma once

#include <string>

#include "base/json.h"
#include "leat/placement_report.h"

namespace leat::bench {

// Why the node is where it is, and not elsewhere.
std::string reason_text(const PlacedNode& node);
// Devices with their shares, values that move, and every node with its reason.
std::string placement_as_text(const GraphPlacement& placement);
Json placement_as_json(const GraphPlacement& placement);

}  // namespace leat::bench
