// From what devices answer to a placement by cost: the graph as a PartitionProblem, and back.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "graph/graph_data.h"
#include "machine/device_costs.h"
#include "partition/cost_partition.h"
#include "partition/partition.h"
#include "plan/placement/placement.h"

namespace leat {

// A placement that was found before, as KnownPartitions says.
struct KnownPlacement {
    // By node, to choose from: index among the answers; -1: the host. Empty: none is known.
    std::vector<std::vector<int>> device_of_node;
    std::vector<int32_t> part_of_node;  // kNoPart: of the host, or not known
    std::vector<bool> may_move;         // by node
    bool is_enough = false;
};

// What placing by cost asks about.
struct PlacedByCost {
    const GraphData& graph;
    const Placement& listed;  // by the order of the list
    std::span<const DeviceAnswers> answers;
    std::span<const int> pins;        // by node, kNotPinned or an index among the answers
    int64_t host_capacity_bytes = 0;  // for the values of all requests; 0: not limited
    int32_t requests_in_flight = 1;   // above 1 their period counts, not how long one takes
    int request_count = 1;            // that share the memories at a time
    const KnownPlacement* known = nullptr;
};

// The listed placement with devices, parts (all convex), forecast, order and streams. Error:
// kOutOfMemory where some memory is too small for whatever is tried.
// Host devices share the host's workers, which divide every operator among themselves: they are one
// lane, on which a node runs where it is fastest. Every other device is one lane, as its parts go
// to one of its queues. Graph inputs come from the host's memory and outputs go back there; what is
// known at planning is nobody's task.
Result<Placement> place_by_cost(const PlacedByCost& question, const GraphWork& work);

// The parts of the listed placement, with constants streamed where the memory of a device is too
// small for them; nothing where none is, or where that is not enough.
Result<std::optional<Placement>> stream_as_listed(const PlacedByCost& question,
                                                  const GraphWork& work);

}  // namespace leat
