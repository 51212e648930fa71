// What a CompiledGraph owns: the graph after the passes and the cache of plans. Thread-safe.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/single_flight.h"
#include "graph/constant_files.h"
#include "machine/runtime_impl.h"
#include "memory/domains/mapped_weights.h"
#include "memory/domains/weight_store.h"
#include "plan/placement/placed_graph.h"
#include "plan/plan.h"
#include "plan/plan_cache.h"
#include "run/graph_signature.h"
#include "run/segments.h"

namespace leat {

struct CompiledGraph::Impl {
    Impl(std::shared_ptr<Runtime::Impl> owner, Graph optimized, CompileOptions given_options = {})
        : runtime(std::move(owner)),
          source(std::move(optimized)),
          graph(source.data()),
          options(std::move(given_options)),
          signature(graph, options),
          files(graph),
          plans(options.plan_cache_bytes, shapes_at_bounds(graph, options)) {}

    std::shared_ptr<Runtime::Impl> runtime;
    Graph source;            // after the passes, nodes in topological order; never changes
    const GraphData& graph;  // of source
    const CompileOptions options;
    const GraphSignature signature;
    // That constants lie in, and, where it was loaded, the file that it was loaded from.
    ConstantFiles files;
    PlacedGraph placed;
    std::vector<double> cost_factors;           // see PlanContext
    std::vector<WeightTargets> weight_targets;  // see choose_weight_targets
    // Packed constants in the file that it was loaded from; null: it was compiled.
    std::shared_ptr<const MappedWeights> mapped;
    CompileReport base_report;  // without plans
    // As compile() got it, for open_defaults(); null: it has no default inputs.
    std::shared_ptr<const Graph> given;
    std::atomic<int> request_count{0};  // that live
    // Of plans that runs wait for, as they are of a segment whose shapes data decide.
    int64_t spare_arena_bytes = 0;
    // Null: it is one segment, whose plans this object has.
    std::shared_ptr<const Segments> segments;
    PlanCache plans;

    // What plans have steps for.
    const GraphData& planned_graph() const { return placed.cut == nullptr ? graph : *placed.cut; }
    // Inputs whose values are part of a plan's key.
    std::span<const int> deciding_inputs() const { return placed.placement.deciding_inputs; }

    // Those of the default inputs that have shapes, sorted.
    std::vector<std::string> defaults_among(const InputShapes& shapes) const;
    // What such an input is while nobody binds it.
    Tensor default_value(std::string_view name) const;
    // The graph compiled with these default inputs open (sorted): once for all requests. Its other
    // default inputs are constants, as here.
    Result<std::shared_ptr<Impl>> open_defaults(const std::vector<std::string>& names);
    // The graph in which the default inputs that have shapes are open: this one if none has. Lives
    // as long as this one.
    Result<Impl*> opened_for(const InputShapes& shapes);
    // By the names of their open default inputs.
    using OpenedGraphs = std::map<std::vector<std::string>, std::shared_ptr<Impl>>;
    OpenedGraphs opened_graphs() const;

    // An error where it is in segments. action: "save", "recompile", what takes a single plan.
    Status check_is_whole(std::string_view action) const;
    // An error where shapes of inputs alone do not make a plan.
    Status check_shapes_decide() const;

    // The cached plan, or a new one. `values`: by input, defined for the shape-deciding ones.
    // `limit`: as PlanCache has it.
    Result<std::shared_ptr<const Plan>> plan_for(std::span<const Shape> shapes,
                                                 std::span<const Tensor* const> values,
                                                 int group,
                                                 const WaitLimit& limit = {});
    // What an error says of a plan for which there is no memory: "'y' (400 bytes)".
    std::string largest_value(const Plan& plan) const;
    // Caches the plan that was made for the key before, without searching. kParse: it is none.
    Status restore_plan(const PlanKey& key, SolvedChoice choice);
    // The plans of all groups, for shapes that alone make a plan.
    Status prepare(std::span<const Shape> shapes);
    Result<std::vector<MemoryTradeOff>> trade_offs(std::span<const Shape> shapes) const;
    // As plans of the group see packed constants.
    PlacedWeights placed_weights(int group) const { return plan_context(group).weights; }

    // The same graph planned again with times that a request has measured, whichever default inputs
    // it has open. Graphs that are open here are so there.
    Result<std::shared_ptr<Impl>> recompile(std::span<const StepTime> times) const;

    // What is known about the inputs; `values` as in plan_for.
    std::vector<ValueFact> input_facts(std::span<const Shape> shapes,
                                       std::span<const Tensor* const> values) const;

  private:
    PlanContext plan_context(int group) const;
    // `cost_factors` with these times; invalid_argument: they are of another graph.
    Result<std::vector<double>> measured_factors(std::span<const StepTime> times) const;
    Result<std::shared_ptr<Impl>> plan_again(std::vector<double> factors) const;
    // As PlanContext has them, of a plan that has this key.
    std::vector<std::vector<ValueFact>> further_facts(const PlanContext& context,
                                                      const PlanKey& key) const;
    Result<std::shared_ptr<const Plan>> make_plan(PlanContext& context,
                                                  const PlanKey& key,
                                                  std::span<const ValueFact> facts) const;
    // An error where memory is strict and that of a request does not fit its domain.
    Status check_room(const Plan& plan) const;

    SingleFlight<std::vector<std::string>, std::shared_ptr<Impl>> openings_{
        "the graph with these default inputs open"};
    OpenedGraphs opened_;  // guarded by the mutex of `openings_`
};

}  // namespace leat
