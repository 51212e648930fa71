// Which operators of a placed graph to divide over its devices, into which ranges, and what the
// shards are taken to cost.
//
// An operator is worth it where shards that end together, with their submissions and transfers, end
// sooner than the whole by a share of the forecast's makespan. That is an estimate of one operator
// alone: whether the graph gains is for the forecast of the divided graph to say. Pure.
#pragma once

#include <span>
#include <vector>

#include "graph/graph_data.h"
#include "machine/device_costs.h"
#include "partition/partition.h"
#include "partition/split/operator_split.h"
#include "place/cost_placement.h"

namespace leat {

// A graph that is placed by cost, undivided.
struct DivisionQuestion {
    const GraphData& graph;
    std::span<const DeviceAnswers> answers;
    std::span<const int> pins;  // by node; empty: none is pinned
    const AssumedDevices& assumed;
    const GraphWork& work;
    // As Placement has them; empty: it is not placed.
    std::span<const int> device_of_node;
    std::span<const int> part_of_node;
    double makespan_ns = 0;        // of its forecast
    bool may_change_bits = false;  // SplitAxis::changes_bits
};

struct OperatorDivision {
    std::vector<NodeSplit> splits;                  // by node
    std::vector<std::vector<int>> device_of_shard;  // by split and shard: index among the answers
    std::vector<int> device_of_sum;  // by split, of its sums; empty: they may run anywhere
};

// What to try, the most promising first; empty where no operator is worth it. Beside the operators
// that are, those that only follow them (an activation behind a product) are divided alike, so that
// their operands need not be joined. Two divisions at most: all, and the one that gains most.
std::vector<OperatorDivision> propose_divisions(const DivisionQuestion& question);

// The placement of the whole graph as a start for that of the divided one: shards are where the
// division has them, and pieces and what is near them may move. Nothing where the whole graph has
// no placement yet.
KnownPlacement placement_before(const DivisionQuestion& question,
                                const OperatorDivision& division,
                                const SplitGraph& split);

// By device and node of the divided graph, what AssumedDevice::derived_ns says: a shard takes its
// share of what was measured of the whole operator there, and what the host's memory planner makes
// a view takes nothing on the host. devices: those of the divided graph, more than were asked of
// the whole one where a host comes in only to cut and join.
std::vector<std::vector<double>> derived_times(const DivisionQuestion& question,
                                               const OperatorDivision& division,
                                               const SplitGraph& split,
                                               size_t devices);

}  // namespace leat
