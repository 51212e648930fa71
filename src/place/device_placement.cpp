#include "place/device_placement.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/error.h"
#include "machine/device_answers.h"
#include "place/cut_parts.h"
#include "place/division/divided_placement.h"
#include "place/placement_choice.h"
#include "place/placement_judgement.h"

namespace leat {
namespace {

// Without parts.
Placement record_of(const GraphData& graph,
                    const NodePlacement& placement,
                    std::span<const DeviceAnswers> answers,
                    std::span<const int> pins,
                    AssumedDevices assumed) {
    Placement record;
    record.assumed = std::move(assumed);
    record.device_of_node = placement.device_of_node;
    record.part_of_node.assign(graph.nodes.size(), -1);
    record.is_pinned.reserve(graph.nodes.size());
    record.refusals.resize(graph.nodes.size());
    for (size_t n = 0; n < graph.nodes.size(); ++n) {
        record.is_pinned.push_back(pins[n] != kNotPinned);
        const int own = placement.device_of_node[n];
        for (int d = 0; d < own; ++d) {
            const std::string& refusal = answers[size_t(d)].nodes[n].refusal;
            if (!refusal.empty()) {
                record.refusals[n].push_back({answers[size_t(d)].device, refusal});
            }
        }
    }
    return record;
}

// For each node the devices besides its own: those that take it, and why the others do not.
void add_alternatives(std::span<const DeviceAnswers> answers,
                      std::span<const int> pins,
                      ChosenPlacement& chosen,
                      Placement& record) {
    record.order = std::move(chosen.order);
    record.listed_device_of_node = std::move(chosen.listed_device_of_node);
    record.other_devices.resize(pins.size());
    for (size_t n = 0; n < pins.size(); ++n) {
        record.refusals[n].clear();
        for (size_t d = 0; record.device_of_node[n] >= 0 && d < answers.size(); ++d) {
            if (int(d) == record.device_of_node[n]) {
                continue;
            }
            const std::string& refusal = answers[d].nodes[n].refusal;
            if (!refusal.empty()) {
                record.refusals[n].push_back({answers[d].device, refusal});
            } else if (pins[n] == kNotPinned) {
                record.other_devices[n].push_back(int(d));
            }
        }
    }
}

// In place of the graph that has its operators whole.
void take_divided(DividedGraph& divided, PlacedGraph& placed, PlacedList& list, AskedGraph& asked) {
    placed.divided = std::move(divided.graph);
    placed.has_host_steps = true;
    list = std::move(divided.list);
    asked = std::move(divided.asked);
}

// Compiles the parts, and leaves a graph with a node for each.
Status place_parts(const GraphData& graph,
                   std::span<const ListedDevice> devices,
                   ChosenPlacement& chosen,
                   PluginConstants& constants,
                   PlacedGraph& placed) {
    Placement& record = placed.record;
    record.part_of_node = cluster_of_nodes(chosen.clusters, graph.nodes.size());
    record.streams = std::move(chosen.streams);
    placed.deciding_inputs = std::move(chosen.placement.deciding_inputs);
    LEAT_ASSIGN_OR_RETURN(
        CutPlacement cut,
        cut_parts(graph, devices, chosen.clusters,
                  {record.device_of_node, record.part_of_node, record.streams}, constants));
    placed.parts = std::move(cut.parts);
    placed.part_compile_time_ns = cut.compile_time_ns;
    placed.hosts = std::move(cut.hosts);
    placed.cut = std::move(cut.graph);
    return {};
}

}  // namespace

Result<PlacedGraph> place_on_host(const GraphData& graph,
                                  const ListedDevice& device,
                                  const NodeHistory& history,
                                  int threads) {
    PlacedGraph placed;
    placed.host = device.host;
    std::vector<DeviceAnswers> answers = {ask_host(graph, device)};
    LEAT_RETURN_IF_ERROR(check_capabilities(graph, answers[0]));
    const std::span<const ListedDevice> devices(&device, 1);
    const std::vector<int> pins = pinned_devices(graph, devices, history);
    const NodePlacement placement = place_nodes(graph, answers, pins);
    placed.deciding_inputs = shape_deciding_inputs(graph);
    placed.nodes_per_device[device.label] = graph.node_count();
    placed.record = record_of(graph, placement, answers, pins, assume_devices(devices, threads));
    return placed;
}

Result<PlacedGraph> place_on_devices(const GraphData& graph,
                                     std::vector<ListedDevice> devices,
                                     const NodeHistory& history,
                                     const CompileOptions& options,
                                     int threads) {
    PlacedGraph placed;
    PlacedList list{std::move(devices), -1};
    const auto host =
        std::find_if(list.devices.begin(), list.devices.end(),
                     [](const ListedDevice& device) { return device.host != nullptr; });
    placed.has_host_steps =
        host != list.devices.end() || options.fallback != Fallback::kForbid ||
        std::any_of(graph.nodes.begin(), graph.nodes.end(),
                    [&graph](const NodeData& node) { return has_strings(graph, node); });
    if (host == list.devices.end()) {
        LEAT_ASSIGN_OR_RETURN(placed.host, find_backend("cpu"));
        if (placed.has_host_steps) {
            list = with_host(std::move(list), *placed.host);
        }
    } else {
        placed.host = host->host;
    }
    PluginConstants constants;
    const PlacementTerms terms{history, options, threads, constants};
    LEAT_ASSIGN_OR_RETURN(AskedGraph asked, ask_about(graph, list.devices, terms));
    LEAT_ASSIGN_OR_RETURN(
        std::optional<DividedGraph> annotated,
        divide_as_annotated(asked, list, *placed.host, terms, placed.annotation_notes));
    if (annotated) {
        take_divided(*annotated, placed, list, asked);
    }
    LEAT_ASSIGN_OR_RETURN(ChosenPlacement chosen,
                          choose_placement(options, list.fallback_device, asked, placed));
    if (annotated) {
        chosen.forecast.divided = std::move(annotated->operators);
    } else if (chosen.forecast.is_by_cost && options.divide_operators != DivideOperators::kNever &&
               asked.stages.empty()) {
        std::optional<DividedPlacement> placement =
            divide_operators(asked, chosen, list, *placed.host, terms);
        if (placement) {
            take_divided(placement->divided, placed, list, asked);
            placed.fallbacks = std::move(placement->placed.fallbacks);
            placed.nodes_per_device = std::move(placement->placed.nodes_per_device);
            chosen = std::move(placement->chosen);
        }
    }
    placed.record = record_of(*asked.graph, chosen.placement, asked.answers, asked.pins,
                              std::move(asked.assumed));
    if (chosen.forecast.is_by_cost) {
        add_alternatives(asked.answers, asked.pins, chosen, placed.record);
    }
    placed.record.forecast = std::move(chosen.forecast);
    LEAT_RETURN_IF_ERROR(place_parts(*asked.graph, list.devices, chosen, constants, placed));
    return placed;
}

}  // namespace leat
