// PlacedGraph: a placement with what carries it out.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "backends/backend.h"
#include "machine/device_part.h"
#include "plan/placement/placement.h"

namespace leat {

struct PlacedGraph {
    Placement placement;
    const Backend* host = nullptr;  // the first of the list, or the CPU
    // By node of `cut`: the host backend that runs it; null: a part does. Empty: `host` has all.
    std::vector<const Backend*> hosts;
    // With a node for each part, values as in the whole graph; null: there are no parts.
    std::shared_ptr<const GraphData> cut;
    std::vector<std::shared_ptr<const DevicePart>> parts;  // in the order of the placement
    int64_t part_compile_time_ns = 0;                      // of all parts
};

}  // namespace leat
