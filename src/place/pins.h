// Whether pins name nodes and devices that there are.
#pragma once

#include <map>
#include <span>
#include <string>

#include "graph/graph_data.h"
#include "machine/device_list.h"

namespace leat {

// not_found with the nodes of the graph, the most similar ones where there are many, or with the
// devices of the list. Nodes inside of If, Loop and Scan cannot be pinned.
Status check_pins(const GraphData& graph,
                  const std::map<std::string, std::string, std::less<>>& pins,
                  std::span<const ListedDevice> devices);

}  // namespace leat
