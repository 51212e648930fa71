// The place of each node of a graph, chosen among the devices of a list by the rule that the
// options name: what devices say of the nodes, and what follows from it.
#pragma once

#include <memory>
#include <vector>

#include "backends/plugin/plugin_constants.h"
#include "graph/graph_data.h"
#include "machine/device_costs.h"
#include "machine/device_list.h"
#include "partition/partition.h"
#include "partition/split/operator_split.h"
#include "passes/node_history.h"
#include "place/cost_placement.h"
#include "plan/placement/placement.h"

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
    PlacedList list;
    std::vector<DeviceAnswers> answers;
    std::vector<int> pins;    // by node, of the program
    std::vector<int> places;  // the same, and the devices of shards
    std::vector<int> stages;
    AssumedDevices assumed;
    GraphWork work;  // assumed_work(), by cost only
    // Of a graph with divided operators.
    std::unique_ptr<GraphData> divided = nullptr;  // that is `graph`
    std::vector<DividedOperator> operators = {};
    std::vector<SplitPiece> pieces = {};  // by node
    KnownPlacement known = {};            // before it was divided
};

// Asks the devices. The graph outlives what is returned.
Result<AskedGraph> ask_about(const GraphData& graph, PlacedList list, const PlacementTerms& terms);

// All of a placement but what devices say of nodes elsewhere: by the rule that the options name.
// An error where some node may not be where it has to be.
Result<Placement> choose_placement(const CompileOptions& options, AskedGraph& asked);

}  // namespace leat
