// Placements of a graph's nodes over devices, drawn at random: which device may have which node,
// which nodes become one, and pins.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "base/split_mix.h"
#include "leat/runtime.h"

namespace leat::placements {

using Pins = std::map<std::string, std::string, std::less<>>;

// Nodes go by their names: those that have none, or share one, get one of their own.
void name_all_nodes(Graph& graph);

// By node of the graph.
struct PlacementChoices {
    std::vector<std::string> devices;
    std::vector<std::vector<int>> takers;  // devices that take the node; empty: it runs nowhere
    // Nodes with one number become one node where nothing keeps them apart, or have to be on one
    // device for the passes to do the same as on a single one.
    std::vector<int> group;
    int free_count = 0;  // of nodes after the passes that more than one device takes

    // The same for some of the devices, in this order.
    PlacementChoices among(std::span<const std::string> some) const;
};

// Asks each device by a compile() of its own. `devices` as in CompileOptions, the CPU among them.
Result<PlacementChoices> find_choices(const Runtime& runtime,
                                      const Graph& graph,
                                      const std::string& devices);

enum class Cut : uint8_t {
    kAnywhere,       // each node has a device of its own
    kBetweenGroups,  // so that the passes make the graph that they make for one device
};

// A device for each node that runs, among those that take it. How often a node follows its first
// operand's is drawn too: some placements have large parts, some very small ones.
Pins draw_pins(const Graph& graph, const PlacementChoices& choices, Cut cut, SplitMix& random);

}  // namespace leat::placements
