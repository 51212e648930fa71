// A placed graph as a drawing: a lane for each device, layers from top to bottom in the direction
// of the data, and a place in its lane for everything that runs.
#pragma once

#include <string>
#include <vector>

#include "leat/placement_report.h"

namespace leat::bench {

// A node that runs, or an end of the graph.
struct PlacementVertex {
    int node = -1;      // in GraphPlacement::nodes; -1: an input or output of the graph
    std::string value;  // of an end
    bool is_input = false;
    int lane = 0;
    int layer = 0;  // below all that it reads
    int place = 0;  // among those of its lane and layer, from the left
};

struct PlacementArrow {
    int from = 0;  // vertices
    int to = 0;
    int edge = 0;  // in GraphPlacement::edges
};

struct PlacementLane {
    int device = -1;  // in GraphPlacement::devices; -1: the ends of the graph
    int width = 1;    // the most vertices of a layer
};

struct PlacementLayers {
    std::vector<PlacementVertex> vertices;
    std::vector<PlacementArrow> arrows;
    std::vector<PlacementLane> lanes;
    int layer_count = 0;

    int place_count(int lane, int layer) const;
};

// Places of a layer are in the order of where their inputs are: few lines cross.
PlacementLayers layers_of(const GraphPlacement& placement);

}  // namespace leat::bench
