// CompiledGraph::recompile: the same graph with plans that are made of measured times.
#include <algorithm>

#include "base/error.h"
#include "base/out_of_memory.h"
#include "plan/kernel_answers.h"
#include "run/compiled_graph_impl.h"

namespace leat {

Result<std::vector<double>> CompiledGraph::Impl::measured_factors(
    std::span<const StepTime> times) const {
    const GraphData& planned = planned_graph();
    std::vector<double> factors = cost_factors;
    factors.resize(size_t(planned.node_count()), 1);
    // Both are in the graph's order, and steps leave out nodes that only rename memory.
    size_t node = 0;
    for (const StepTime& time : times) {
        if (!time.within.empty()) {
            continue;  // the time of the node around has it
        }
        const auto is_meant = [&](const NodeData& data) {
            return data.name == time.node && data.op_type == time.op_type;
        };
        while (node < planned.nodes.size() && !is_meant(planned.nodes[node])) {
            ++node;
        }
        if (node == planned.nodes.size()) {
            return invalid_argument(
                       "a time for node '{}' ({}), which is not the next one of the graph",
                       time.node, time.op_type)
                .with_needed("the steps of Request::profile, in their order");
        }
        if (time.estimated_ns > 0 && time.time_ns > 0) {
            double& factor = factors[node];
            factor =
                std::min(factor * (double(time.time_ns) / time.estimated_ns), kMostEstimatedNs);
        }
        ++node;
    }
    return factors;
}

Result<std::shared_ptr<CompiledGraph::Impl>> CompiledGraph::Impl::plan_again(
    std::vector<double> factors) const {
    auto again = std::make_shared<Impl>(runtime, source, options);
    again->placed = placed;
    again->base_report = base_report;
    again->cost_factors = std::move(factors);
    again->weight_targets = weight_targets;
    again->mapped = mapped;
    again->given = given;
    again->files = files;
    for (const std::shared_ptr<const Plan>& plan : plans.plans()) {
        if (deciding_inputs().empty()) {
            LEAT_RETURN_IF_ERROR(again->plan_for(plan->key.shapes, {}, plan->key.group).error());
        }
    }
    return again;
}

// Nodes that several of these graphs have take as long in each.
Result<std::shared_ptr<CompiledGraph::Impl>> CompiledGraph::Impl::recompile(
    std::span<const StepTime> times) const {
    LEAT_RETURN_IF_ERROR(check_is_whole("recompile"));
    OpenedGraphs opened = opened_graphs();
    const Result<std::vector<double>> own = measured_factors(times);
    bool is_measured = own.ok();
    for (auto& [names, graph] : opened) {
        Result<std::vector<double>> factors = graph->measured_factors(times);
        if (factors.ok()) {
            is_measured = true;
            LEAT_ASSIGN_OR_RETURN(graph, graph->plan_again(*std::move(factors)));
        }
    }
    if (!is_measured) {
        return own.error();
    }
    LEAT_ASSIGN_OR_RETURN(std::shared_ptr<Impl> again, plan_again(own.ok() ? *own : cost_factors));
    again->opened_ = std::move(opened);
    return again;
}

Result<CompiledGraph> CompiledGraph::recompile(std::span<const StepTime> times) const {
    return catch_bad_alloc("compile the graph again", [&]() -> Result<CompiledGraph> {
        LEAT_ASSIGN_OR_RETURN(std::shared_ptr<Impl> again, impl_->recompile(times));
        return CompiledGraph(std::move(again));
    });
}

}  // namespace leat
