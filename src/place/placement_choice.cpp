#include "place/placement_choice.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/error.h"
#include "machine/device_answers.h"
#include "place/annotations/device_annotations.h"
#include "place/assumed_work.h"
#include "place/cost_placement.h"
#include "place/placement_judgement.h"
#include "plan/memory_limit.h"

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
// and joins what is divided.
void keep_for_fallback(std::span<const int> listed_device_of_node, AskedGraph& asked) {
    const int device = asked.list.fallback_device;
    for (size_t n = 0; device >= 0 && n < listed_device_of_node.size(); ++n) {
        const bool is_cut =
            !asked.pieces.empty() && (asked.pieces[n].role == SplitPiece::Role::kSlice ||
                                      asked.pieces[n].role == SplitPiece::Role::kConcat);
        std::string& refusal = asked.answers[size_t(device)].nodes[n].refusal;
        if (listed_device_of_node[n] != device && refusal.empty() && !is_cut) {
            refusal = "it is not in the list, and only runs what the others refuse";
        }
    }
}

Result<Placement> place_where_forecast_is_shortest(const CompileOptions& options,
                                                   const Placement& listed,
                                                   AskedGraph& asked) {
    const GraphData& graph = *asked.graph;
    LEAT_RETURN_IF_ERROR(
        judge(graph, listed.device_of_node, asked.answers, asked.pins, options.fallback));
    keep_for_fallback(listed.device_of_node, asked);
    if (!asked.work.has_open_extents) {
        LEAT_RETURN_IF_ERROR(check_costs(graph, asked.work));
    }
    LEAT_ASSIGN_OR_RETURN(
        Placement placement,
        place_by_cost({graph, listed, asked.answers, asked.places, host_room_bytes(graph, options),
                       options.requests_in_flight, requests_at_a_time(options), &asked.known},
                      asked.work));
    placement.listed_device_of_node = listed.device_of_node;
    placement.forecast.has_assumed_extents = asked.work.has_open_extents;
    std::vector<int> part_of_node = split_by_stage(placement.part_of_node, asked.stages);
    if (part_of_node != placement.part_of_node) {
        placement.part_of_node = std::move(part_of_node);
        placement.order = {};  // it is that of the parts as they were found
    }
    return placement;
}

// Nodes stay where they are.
Status stream_where_short(const CompileOptions& options,
                          const AskedGraph& asked,
                          Placement& placement) {
    if (!has_streamable_inputs(asked.answers)) {
        return {};
    }
    const GraphData& graph = *asked.graph;
    const GraphWork work = assumed_work(graph, options);
    LEAT_ASSIGN_OR_RETURN(
        std::optional<Placement> streamed,
        stream_as_listed({graph, placement, asked.answers, asked.places, 0,
                          options.requests_in_flight, requests_at_a_time(options)},
                         work));
    if (streamed) {
        placement.part_of_node = split_by_stage(streamed->part_of_node, asked.stages);
        placement.streams = std::move(streamed->streams);
    }
    return {};
}

}  // namespace

Result<AskedGraph> ask_about(const GraphData& graph, PlacedList list, const PlacementTerms& terms) {
    AskedGraph asked{&graph, std::move(list), {}, {}, {}, {}, {}, {}};
    const std::span<const ListedDevice> devices = asked.list.devices;
    LEAT_ASSIGN_OR_RETURN(asked.answers, ask_all(graph, devices, terms.constants));
    LEAT_RETURN_IF_ERROR(find_streamable_inputs(graph, devices, terms.constants, asked.answers));
    asked.pins = pinned_devices(graph, devices, terms.history);
    asked.places = asked.pins;
    asked.stages = pipeline_stages(graph, terms.history);
    asked.assumed = assume_devices(devices, terms.threads);
    take_reported_costs(graph, asked.answers, asked.assumed);
    if (terms.options.placement_policy == PlacementPolicy::kCost) {
        asked.work = assumed_work(graph, terms.options);
    }
    return asked;
}

Result<Placement> choose_placement(const CompileOptions& options, AskedGraph& asked) {
    const GraphData& graph = *asked.graph;
    const bool is_by_cost = options.placement_policy == PlacementPolicy::kCost;
    NodePlacement nodes = is_by_cost ? place_nodes_asking_all(graph, asked.answers, asked.places)
                                     : place_nodes(graph, asked.answers, asked.places);
    Placement placement;
    placement.assumed = asked.assumed;
    placement.device_of_node = std::move(nodes.device_of_node);
    placement.deciding_inputs = std::move(nodes.deciding_inputs);
    if (is_by_cost) {
        LEAT_ASSIGN_OR_RETURN(placement,
                              place_where_forecast_is_shortest(options, placement, asked));
    }
    LEAT_RETURN_IF_ERROR(
        judge(graph, placement.device_of_node, asked.answers, asked.pins, options.fallback));
    if (!is_by_cost) {
        placement.part_of_node =
            find_clusters(graph, placement.device_of_node, asked.answers, asked.stages);
        LEAT_RETURN_IF_ERROR(stream_where_short(options, asked, placement));
    }
    std::vector<int> part_of_node = split_by_host_inputs(graph, placement.part_of_node,
                                                         placement.device_of_node, asked.answers);
    if (part_of_node != placement.part_of_node) {
        placement.part_of_node = std::move(part_of_node);
        placement.order = {};  // it is that of the parts as they were found
    }
    placement.forecast.divided = asked.operators;
    return placement;
}

}  // namespace leat
