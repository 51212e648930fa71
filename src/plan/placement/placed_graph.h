// PlacedGraph: a placement with what carries it out.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
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
    // Bodies of nodes that the host runs, as far as devices have some of their nodes: by node of
    // the graph that plans are of, and attribute.
    std::map<std::pair<int32_t, std::string>, std::shared_ptr<const PlacedGraph>> bodies;
    int64_t part_compile_time_ns = 0;  // of all parts
};

}  // namespace leat
