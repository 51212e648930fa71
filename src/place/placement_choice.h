// The place of each node of a graph, chosen among the devices of a list by the rule that the
// options name: what devices say of the nodes, and what follows from it.
#pragma once

#include <vector>

#include "backends/plugin/plugin_constants.h"
#include "graph/graph_data.h"
#include "machine/device_costs.h"
#include "machine/device_list.h"
#include "partition/partition.h"
#include "partition/split/operator_split.h"
#include "passes/node_history.h"
#include "place/cost_placement.h"
#include "place/device_placement.h"
#include "plan/constant_streams.h"
#include "plan/forecast_order.h"

namespace leat {

// What is the same for each graph that one call of compile() places. Borrowed.
struct PlacementTerms {
    const NodeHistory& history;
    const CompileOptions& options;
    int threads;  // of the Runtime
    PluginConstants& constants;
};

// The list that a graph is placed on.
struct PlacedList {
    std::vector<ListedDevice> devices;
    int fallback_device = -1;  // that is not in the list of the program; -1: none
};

// A graph that is to be placed, with what devices say about it.
struct AskedGraph {
    const GraphData* graph = nullptr;
    std::vector<DeviceAnswers> answers;
    std::vector<int> pins;    // by node, of the program
    std::vector<int> places;  // the same, and the devices of shards
    std::vector<int> stages;
    AssumedDevices assumed;
    std::vector<SplitPiece> pieces;  // by node; empty: the graph is not divided
    KnownPlacement known = {};       // before it was divided
};

struct ChosenPlacement {
    NodePlacement placement;
    std::vector<Cluster> clusters;
    std::vector<int> listed_device_of_node;
    PlacementForecast forecast;
    ForecastOrder order;
    GraphWork work;  // by cost only
    ConstantStreams streams;
};

// Asks the devices. The graph outlives what is returned.
Result<AskedGraph> ask_about(const GraphData& graph,
                             std::span<const ListedDevice> devices,
                             const PlacementTerms& terms);

// By the rule that the options name; an error where some node may not be where it has to be. Fills
// what `placed` says of fallbacks and of nodes per device.
Result<ChosenPlacement> choose_placement(const CompileOptions& options,
                                         int fallback_device,
                                         AskedGraph& asked,
                                         PlacedGraph& placed);

}  // namespace leat
