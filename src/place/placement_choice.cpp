#include "place/placement_choice.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/error.h"
#include "compile/compile_input.h"
#include "machine/device_answers.h"
#include "place/annotations/device_annotations.h"
#include "place/assumed_shapes.h"
#include "place/cost_placement.h"
#include "place/placement_judgement.h"

namespace leat {
namespace {

// What the memory limit leaves for the values of all requests; 0: there is no limit.
int64_t host_room_bytes(const GraphData& graph, const CompileOptions& options) {
    if (options.memory_limit_bytes <= 0) {
        return 0;
    }
    return std::max<int64_t>(options.memory_limit_bytes - graph.parameter_bytes(), 1);
}

// A device that is not in the list only runs what those of the list refuse, and, as the host, cuts
// and joins what is divided. -1: there is none.
void keep_for_fallback(const NodePlacement& listed, int device, AskedGraph& asked) {
    for (size_t n = 0; device >= 0 && n < listed.device_of_node.size(); ++n) {
        const bool is_cut =
            !asked.pieces.empty() && (asked.pieces[n].role == SplitPiece::Role::kSlice ||
                                      asked.pieces[n].role == SplitPiece::Role::kConcat);
        std::string& refusal = asked.answers[size_t(device)].nodes[n].refusal;
        if (listed.device_of_node[n] != device && refusal.empty() && !is_cut) {
            refusal = "it is not in the list, and only runs what the others refuse";
        }
    }
}

Status place_where_forecast_is_shortest(const CompileOptions& options,
                                        int fallback_device,
                                        AskedGraph& asked,
                                        ChosenPlacement& chosen) {
    const GraphData& graph = *asked.graph;
    PlacedGraph unplaced;
    LEAT_RETURN_IF_ERROR(
        judge(graph, chosen.placement, asked.answers, asked.pins, options.fallback, unplaced));
    keep_for_fallback(chosen.placement, fallback_device, asked);
    const AssumedShapes shapes = assume_shapes(graph, options);
    chosen.work = work_of_graph(graph, shapes.facts);
    const bool has_assumed_extents = shapes.has_assumed_extents || chosen.work.has_open_extents;
    if (!has_assumed_extents) {
        LEAT_RETURN_IF_ERROR(check_costs(graph, chosen.work));
    }
    LEAT_ASSIGN_OR_RETURN(
        CostPlacement found,
        place_by_cost(
            {graph, chosen.placement, asked.answers, asked.places, host_room_bytes(graph, options),
             options.requests_in_flight, requests_at_a_time(options), &asked.known},
            asked.assumed, chosen.work));
    chosen.placement.device_of_node = std::move(found.device_of_node);
    chosen.streams = std::move(found.streams);
    chosen.clusters = split_by_stage(found.clusters, asked.stages);
    chosen.forecast = std::move(found.forecast);
    // Of parts as they were found.
    if (chosen.clusters.size() == found.clusters.size()) {
        chosen.order = std::move(found.order);
    }
    chosen.forecast.has_assumed_extents = has_assumed_extents;
    return {};
}

// Nodes stay where they are.
Status stream_where_short(const AskedGraph& asked,
                          const CompileOptions& options,
                          ChosenPlacement& chosen) {
    if (!has_streamable_inputs(asked.answers)) {
        return {};
    }
    const GraphData& graph = *asked.graph;
    const GraphWork work = work_of_graph(graph, assume_shapes(graph, options).facts);
    LEAT_ASSIGN_OR_RETURN(
        std::optional<CostPlacement> streamed,
        stream_as_listed({graph, chosen.placement, asked.answers, asked.places, 0,
                          options.requests_in_flight, requests_at_a_time(options)},
                         asked.assumed, work, chosen.clusters));
    if (streamed) {
        chosen.clusters = split_by_stage(streamed->clusters, asked.stages);
        chosen.streams = std::move(streamed->streams);
    }
    return {};
}

}  // namespace

Result<AskedGraph> ask_about(const GraphData& graph,
                             std::span<const ListedDevice> devices,
                             const PlacementTerms& terms) {
    AskedGraph asked{&graph, {}, {}, {}, {}, {}, {}};
    LEAT_ASSIGN_OR_RETURN(asked.answers, ask_all(graph, devices, terms.constants));
    LEAT_RETURN_IF_ERROR(find_streamable_inputs(graph, devices, terms.constants, asked.answers));
    asked.pins = pinned_devices(graph, devices, terms.history);
    asked.places = asked.pins;
    asked.stages = pipeline_stages(graph, terms.history);
    asked.assumed = assume_devices(devices, terms.threads);
    take_reported_costs(graph, asked.answers, asked.assumed);
    return asked;
}

Result<ChosenPlacement> choose_placement(const CompileOptions& options,
                                         int fallback_device,
                                         AskedGraph& asked,
                                         PlacedGraph& placed) {
    const GraphData& graph = *asked.graph;
    ChosenPlacement chosen;
    const bool is_by_cost = options.placement_policy == PlacementPolicy::kCost;
    chosen.placement = is_by_cost ? place_nodes_asking_all(graph, asked.answers, asked.places)
                                  : place_nodes(graph, asked.answers, asked.places);
    chosen.listed_device_of_node = chosen.placement.device_of_node;
    if (is_by_cost) {
        LEAT_RETURN_IF_ERROR(
            place_where_forecast_is_shortest(options, fallback_device, asked, chosen));
    }
    LEAT_RETURN_IF_ERROR(
        judge(graph, chosen.placement, asked.answers, asked.pins, options.fallback, placed));
    if (!is_by_cost) {
        chosen.clusters =
            find_clusters(graph, chosen.placement.device_of_node, asked.answers, asked.stages);
        LEAT_RETURN_IF_ERROR(stream_where_short(asked, options, chosen));
    }
    return chosen;
}

}  // namespace leat
