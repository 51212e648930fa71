// Which device runs which node, and the subgraphs that follow.
//
// Pure functions of the graph and of what devices say about its nodes; no device is asked here.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "graph/op_def.h"

namespace leat {

// What a device says about a node.
struct NodeAnswer {
    std::string refusal;       // empty: the device can run it
    uint32_t host_inputs = 0;  // bit i: input i must be known before the run
    double cost_ns = 0;        // as the backend estimates it; 0: it does not
    // Bit i: input i, a constant, may be a value of the run too. 0 where nobody has asked.
    uint32_t streamable_inputs = 0;
};

// Whether the bit of the input is set in host_inputs.
constexpr bool is_host_input(uint32_t host_inputs, size_t input) {
    return input < 32 && (host_inputs >> input & 1U) != 0;
}

struct DeviceAnswers {
    std::string device;
    std::vector<NodeAnswer> nodes;  // by node of the graph
    bool is_host = false;           // takes part in the host's own plan: any types, any layouts
};

// Where a node goes.
constexpr int kKnownAtPlanning = -1;  // nowhere: its results follow from shapes
constexpr int kNowhere = -2;          // every device refuses it, or the one that it is pinned to

struct NodePlacement {
    std::vector<int> device_of_node;  // index among the answers, or a k... above
    // Graph inputs whose values decide shapes or are read before the run; ascending.
    std::vector<int> deciding_inputs;
};

constexpr int kNotPinned = -1;

// Every node goes to the first device that does not refuse it, or to the one that it is pinned to,
// unless its results are shapes or are read before the run, and follow from shapes and from what is
// known of inputs. `pins`: by node, an index among the answers or kNotPinned; empty: none is.
// A device that is not the host also refuses what its plan could not name: strings, sequences,
// results whose shape only the run knows, and operands to be known before the run that are not.
// Such reasons are added to `answers`. Precondition: nodes in topological order, values with types.
NodePlacement place_nodes(const GraphData& graph,
                          std::span<DeviceAnswers> answers,
                          std::span<const int> pins = {});
// The same, and every device refuses what its plan could not name wherever all other nodes are, so
// that any device whose answer is left without a reason may be given the node.
NodePlacement place_nodes_asking_all(const GraphData& graph,
                                     std::span<DeviceAnswers> answers,
                                     std::span<const int> pins = {});

// By node, which cluster it is in; -1: none. A cluster is a subgraph of nodes of one device without
// a path that leaves and comes back. Clusters of all devices but the host are as large as one level
// of changes between devices allows: two nodes of a device are together if the paths that lead to
// them change devices equally often. `stages`: by node, none below those of the nodes that it takes
// data from; nodes of different stages are not together, and changes are counted from the first one
// in a stage. Empty: all nodes are of one.
std::vector<int> find_clusters(const GraphData& graph,
                               std::span<const int> device_of_node,
                               std::span<const DeviceAnswers> answers,
                               std::span<const int> stages = {});

// The same without nodes of different stages in one cluster. `stages`: as in find_clusters.
std::vector<int> split_by_stage(std::span<const int> cluster_of_node, std::span<const int> stages);

// The same where no cluster reads more than kMostHostInputs values before the run: a plugin says
// which inputs these are by bits, LeatExecutableInfo::host_inputs_low. Precondition: nodes in
// topological order.
constexpr size_t kMostHostInputs = 64;
std::vector<int> split_by_host_inputs(const GraphData& graph,
                                      std::span<const int> cluster_of_node,
                                      std::span<const int> device_of_node,
                                      std::span<const DeviceAnswers> answers);

// A graph whose clusters are one node each (graph/part_node.h).
struct CutGraph {
    // Values are those of the graph that was cut, by the same ids, so facts about one hold for the
    // other. Nodes are in topological order; those that are known at planning are gone.
    GraphData graph;
    // By cluster; inputs and outputs are those of its node in their order.
    std::vector<GraphData> bodies;
    // By cluster, then by input: it is a streamed constant of the whole graph.
    std::vector<std::vector<bool>> streamed_inputs;
};
// streamed: by cluster, the constants that it has as inputs, ascending; empty: all are in the
// bodies. Precondition: nodes in topological order.
CutGraph cut_clusters(const GraphData& graph,
                      std::span<const int> cluster_of_node,
                      std::span<const int> device_of_node,
                      std::span<const std::vector<int32_t>> streamed = {});

}  // namespace leat
