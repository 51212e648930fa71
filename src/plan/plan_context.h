// PlanContext: what all plans of a compiled graph have in common, for one group of threads.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "backends/backend.h"
#include "graph/inference.h"
#include "machine/device_part.h"
#include "memory/domains/weight_store.h"
#include "plan/devices/constant_streams.h"
#include "plan/memory_limit.h"

namespace leat {

struct ForecastOrder;
struct ReplanSeed;

const ReplanSeed& no_seed();

struct PlanContext {
    const GraphData& graph;  // after the passes, in topological order; outlives the plan
    // The same before parts for devices were cut out of it: what is inferred. Values are the same.
    const GraphData& whole;
    const Backend& backend;
    std::span<const Backend* const> hosts;  // by node of `graph`; empty: `backend` has them all
    PlacedWeights weights;
    int workers;     // that a run may have
    bool is_serial;  // as CompileOptions::runs_serially
    int numa_node;   // whose threads they are; -1: any
    bool is_shared;  // they are those of several nodes
    // By node: measured over estimated time; empty: nothing was measured.
    std::span<const double> cost_factors;
    bool is_traced;  // the program
    MemoryLimit memory_limit;
    // By cluster.
    std::span<const std::shared_ptr<const DevicePart>> parts;
    bool has_host_steps;         // false: nothing may run on a host
    const ForecastOrder* order;  // null: there was no forecast; outlives make_plan
    bool overlaps_requests;      // several are in flight, of which threads take what is ready
    // By node of `whole`, in parts; outlive make_plan.
    const ConstantStreams& streams;
    std::span<const int> part_of_node;    // -1: none
    const ReplanSeed* seed = &no_seed();  // of this graph; outlives make_plan
    // Facts of other inputs, by their shapes, for whose sizes memory is arranged as well: plans for
    // sizes between these find an arrangement that suits them.
    std::span<const std::vector<ValueFact>> further_facts = {};
};

}  // namespace leat
