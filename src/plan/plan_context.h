// PlanContext: what all plans of a compiled graph have in common, for one group of threads.
#pragma once

#include <span>
#include <vector>

#include "graph/inference.h"
#include "leat/runtime.h"
#include "memory/domains/weight_store.h"
#include "plan/memory_limit.h"
#include "plan/placement/placed_graph.h"

namespace leat {

class PlanObserver;
struct ReplanSeed;

const ReplanSeed& no_seed();

// Graphs, placement and options outlive the plans; the rest outlives make_plan.
struct PlanContext {
    // After the passes, in topological order, before parts for devices were cut out of it.
    const GraphData& whole;
    const PlacedGraph& placed;
    const CompileOptions& options;
    PlacedWeights weights;
    MemoryLimit memory_limit;
    // By node of graph(): measured over estimated time; empty: nothing was measured.
    std::span<const double> cost_factors;
    int workers;                          // that a run may have
    int numa_node;                        // whose threads they are; -1: any
    bool is_shared;                       // they are those of several nodes
    PlanObserver* observer;               // null: nobody observes runs
    const ReplanSeed* seed = &no_seed();  // of this graph
    // Facts of other inputs, by their shapes, for whose sizes memory is arranged as well: plans for
    // sizes between these find an arrangement that suits them.
    std::span<const std::vector<ValueFact>> further_facts = {};
    // Of a node's body, whose arena is in that of the graph around: that has the limit.
    bool is_body = false;
    // Bytes of the arena that are not worth the time of a search.
    int64_t spare_arena_bytes = 0;

    // The graph that plans have steps for. Its values are those of `whole`.
    const GraphData& graph() const { return placed.cut == nullptr ? whole : *placed.cut; }
    // Null: there was no forecast.
    const ForecastOrder* order() const {
        return placed.placement.forecast.is_by_cost ? &placed.placement.order : nullptr;
    }
};

}  // namespace leat
