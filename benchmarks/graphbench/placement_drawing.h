// A placed graph as a picture: a lane for each device, values that move marked with their bytes.
#pragma once

#include <string>

#include "leat/placement_report.h"

namespace leat::bench {

// Graphviz: a cluster for each device, and in it one for each part.
std::string placement_as_dot(const GraphPlacement& placement, const std::string& title);
// Layers from top to bottom, lanes side by side. Details appear where the pointer rests.
std::string placement_as_svg(const GraphPlacement& placement, const std::string& title);

}  // namespace leat::bench
