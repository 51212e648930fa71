// Where the nodes of a compiled graph run, why there and not elsewhere, and what that costs by
// estimate.
//
// Estimates are made from the operators' definitions (flops, bytes) and a few constants of each
// device, and then only compare placements; where operators were calibrated they are what these
// took (calibration_report.h).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace leat {

enum class PlacementReason : uint8_t {
    kFirstOfList,      // no device before it in the list takes the node
    kByCost,           // PlacementPolicy::kCost: the forecast is shortest with it there
    kPinned,           // CompileOptions::pins, or an annotation of the model
    kKnownAtPlanning,  // it follows from shapes, and is computed on the host when a plan is made
    kComputed,         // at compile time: its results are constants
    kIdentity,         // it gives its input back
    kJoined,           // another node does its work
    kUnused,           // no result of the graph needs it
    kDivided,          // shards of it run on several devices: PlacementForecast::divided
};

// What an estimated time is made of.
enum class CostSource : uint8_t {
    kDefinition,  // flops and bytes of the operator's definition, and the device's rates
    // The same, times what other operators of the type took there by comparison; of a shard the
    // share of what the whole operator took.
    kScaled,
    kMeasured,  // this operator with these shapes was measured on the device
    kReported,  // the backend says how long it takes
};

struct DeviceRefusal {
    std::string device;
    std::string reason;
};

// A device that takes the node too.
struct PlacementAlternative {
    std::string device;
    double estimated_ns = 0;
    double moving_ns = 0;  // of its operands and results, all other nodes being where they are
};

struct PlacedNode {
    std::string name;
    std::string op_type;
    PlacementReason reason = PlacementReason::kFirstOfList;
    std::string device;       // empty: it runs nowhere
    int part = -1;            // among all parts; -1: none, as on the host
    std::string joined_into;  // kJoined: the name of that node
    // Why devices before `device` in the list do not take it; by cost, why any does not.
    std::vector<DeviceRefusal> refusals;
    // By cost only, with the device that the order of the list gives.
    std::vector<PlacementAlternative> alternatives;
    std::string listed_device;
    double moving_ns = 0;  // as that of an alternative
    // False, and zeros: it runs nowhere, or some rank is not known.
    bool is_estimated = false;
    double flops = 0;
    int64_t bytes = 0;  // read and written
    double estimated_ns = 0;
    CostSource source = CostSource::kDefinition;
};

// A value between two nodes that run, or an end of the graph.
struct PlacedEdge {
    std::string value;  // of a graph output: the output's name
    int64_t bytes = 0;
    int from_node = -1;     // in GraphPlacement::nodes; -1: a graph input
    int to_node = -1;       // -1: a graph output
    bool is_moved = false;  // to another memory, or into the arena for a part that works there
};

// A value that a run copies from the host's memory to a device's, or back; for a part that works in
// the host's memory, from where the caller has it.
struct MovedValue {
    std::string value;
    int64_t bytes = 0;
    std::string device;
    int part = -1;  // that reads it, or has made it
    bool is_to_device = false;
    double estimated_ns = 0;
    bool is_constant = false;  // streamed: the device's memory is too small to keep it
};

struct DeviceShare {
    std::string device;
    int node_count = 0;
    int part_count = 0;       // subgraphs that its backend compiled; 0 on the host
    double estimated_ns = 0;  // of its nodes
    int measured_count = 0;   // of its nodes, with CostSource::kMeasured
    int scaled_count = 0;     // with CostSource::kScaled
    double share = 0;         // of the sum of all nodes' and moved values' times
    int64_t bytes_in = 0;     // moved in each run; without constants that stay there
    int64_t bytes_out = 0;
    int64_t constant_bytes = 0;  // that stay in its memory
    int64_t streamed_bytes = 0;  // constants among `bytes_in`
    double moving_ns = 0;
    // What the estimates take for granted.
    double flops_per_s = 0;
    double bytes_per_s = 0;
    std::string rates_source;
    double link_latency_ns = 0;  // 0: on the host, or in its memory
    double link_bytes_per_s = 0;
    std::string link_source;
};

struct NamedMakespan {
    std::string placement;
    double makespan_ns = 0;
    double period_ns = 0;  // as PlacementForecast::period_ns
};

// A part, a node on the host, or a move, as PlacementForecast expects it.
struct ForecastStep {
    std::string name;    // "part 3", the node's, or that of the value that moves
    std::string device;  // that it keeps busy; of a move the one that copies
    bool is_move = false;
    double begin_ns = 0;  // after the begin of the run
    double end_ns = 0;
};

struct BusyShare {
    std::string device;
    double share = 0;  // of PlacementForecast::period_ns, over all its queues
};

// Indices [begin, end) of the axis along which an operator is divided.
struct OperatorShard {
    std::string device;
    int64_t begin = 0;
    int64_t end = 0;
};

// An operator that CompileOptions::divide_operators or an annotation of the model has divided.
struct DividedOperator {
    std::string name;  // of the node; those of its shards begin with it
    std::string op_type;
    // Of the result: "rows", "batch", "columns" or "channels". Reduced, so that shards give
    // summands of the whole result: "inner" (of a product) or "input channels".
    std::string axis;
    int result_axis = 0;          // of the result; -1: the axis is reduced
    std::vector<int> input_axes;  // by input: that of which a shard reads its range; below 0: none
    bool changes_bits = false;    // the sum of the shards rounds otherwise than the whole operator
    std::vector<OperatorShard> shards;
};

// What PlacementPolicy::kCost expected of the placement that it chose, with the shapes that
// CompileOptions fix: all parts and host steps with the moves between them, as soon as they can.
struct PlacementForecast {
    bool is_by_cost = false;     // else the rest but for `divided` is empty
    double makespan_ns = 0;      // of a run that has all devices for itself
    int requests_in_flight = 1;  // as CompileOptions say
    // Between the ends of successive runs, in the long run, with so many in flight: the makespan
    // where it is 1, else what decided.
    double period_ns = 0;
    std::string found_by;  // the placement that the search improved
    // Of placements that were tried too; none is shorter, or, with several requests in flight, has
    // a shorter period.
    std::vector<NamedMakespan> simple;
    std::vector<BusyShare> busy;           // the host's first, as one
    std::vector<ForecastStep> schedule;    // by begin
    bool has_assumed_extents = false;      // extents that nothing fixes counted as 1
    std::vector<DividedOperator> divided;  // also where annotations alone decided
    double undivided_ns = 0;  // the makespan without that; 0: costs have divided nothing
};

// Of a graph in segments (CompileReport::segments): of all of them, one after the other, with the
// nodes between them, and without a forecast.
struct GraphPlacement {
    std::vector<DeviceShare> devices;  // as in the list
    std::vector<PlacedNode> nodes;     // after the passes, in order, and then those that are gone
    std::vector<PlacedEdge> edges;     // constants and what is known at planning aside
    std::vector<MovedValue> moved;     // part by part
    double moving_share = 0;           // of the sum of all times
    // Extents that nothing fixes count as 1: there is no plan yet.
    bool has_open_extents = false;
    PlacementForecast forecast;
};

}  // namespace leat
