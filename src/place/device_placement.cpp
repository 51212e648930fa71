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

// Which nodes are pinned, and what devices besides its own say of each: by cost all, else those
// before it in the list.
void add_answers(std::span<const DeviceAnswers> answers,
                 std::span<const int> pins,
                 Placement& placement) {
    const bool is_by_cost = placement.forecast.is_by_cost;
    placement.is_pinned.reserve(pins.size());
    placement.refusals.resize(pins.size());
    placement.other_devices.resize(is_by_cost ? pins.size() : 0);
    for (size_t n = 0; n < pins.size(); ++n) {
        placement.is_pinned.push_back(pins[n] != kNotPinned);
        const int own = placement.device_of_node[n];
        const int end = own >= 0 && is_by_cost ? int(answers.size()) : own;
        for (int d = 0; d < end; ++d) {
            const DeviceAnswers& device = answers[size_t(d)];
            if (d == own) {
                continue;
            }
            if (!device.nodes[n].refusal.empty()) {
                placement.refusals[n].push_back({device.device, device.nodes[n].refusal});
            } else if (is_by_cost && pins[n] == kNotPinned) {
                placement.other_devices[n].push_back(d);
            }
        }
    }
}

// What follows from shapes needs no device, and counts as the first one's.
std::map<std::string, int> nodes_per_device(std::span<const DeviceAnswers> answers,
                                            std::span<const int> device_of_node) {
    std::map<std::string, int> counts;
    for (const int device : device_of_node) {
        ++counts[answers[size_t(std::max(device, 0))].device];
    }
    return counts;
}

}  // namespace

Result<DevicePlacement> place_on_host(const GraphData& graph,
                                      const ListedDevice& device,
                                      const NodeHistory& history,
                                      int threads) {
    std::vector<DeviceAnswers> answers = {ask_host(graph, device)};
    LEAT_RETURN_IF_ERROR(check_capabilities(graph, answers[0]));
    const std::span<const ListedDevice> devices(&device, 1);
    const std::vector<int> pins = pinned_devices(graph, devices, history);
    DevicePlacement placed;
    placed.graph.host = device.host;
    placed.nodes_per_device[device.label] = graph.node_count();
    Placement& placement = placed.graph.placement;
    placement.assumed = assume_devices(devices, threads);
    placement.device_of_node = place_nodes(graph, answers, pins).device_of_node;
    placement.part_of_node.assign(graph.nodes.size(), -1);
    placement.deciding_inputs = shape_deciding_inputs(graph);
    add_answers(answers, pins, placement);
    return placed;
}

Result<DevicePlacement> place_on_devices(const GraphData& graph,
                                         std::vector<ListedDevice> devices,
                                         const NodeHistory& history,
                                         const CompileOptions& options,
                                         int threads) {
    const auto listed = std::find_if(devices.begin(), devices.end(),
                                     [](const ListedDevice& own) { return own.host != nullptr; });
    const Backend* host = listed == devices.end() ? nullptr : listed->host;
    const bool has_host_steps =
        host != nullptr || options.fallback != Fallback::kForbid ||
        std::any_of(graph.nodes.begin(), graph.nodes.end(),
                    [&graph](const NodeData& node) { return needs_host(graph, node); });
    if (host == nullptr) {
        LEAT_ASSIGN_OR_RETURN(host, find_backend("cpu"));
    }
    PlacedList list{std::move(devices), -1};
    if (has_host_steps) {
        list = with_host(std::move(list), *host);
    }
    PluginConstants constants;
    const PlacementTerms terms{history, options, threads, constants};
    DevicePlacement placed;
    LEAT_ASSIGN_OR_RETURN(AskedGraph asked, ask_about(graph, std::move(list), terms));
    LEAT_ASSIGN_OR_RETURN(std::optional<AskedGraph> annotated,
                          divide_as_annotated(asked, *host, terms, placed.annotation_notes));
    if (annotated) {
        asked = *std::move(annotated);
    }
    LEAT_ASSIGN_OR_RETURN(Placement placement, choose_placement(options, asked));
    if (asked.divided == nullptr && placement.forecast.is_by_cost &&
        options.divide_operators != DivideOperators::kNever && asked.stages.empty()) {
        if (auto divided = divide_operators(asked, placement, *host, terms)) {
            asked = std::move(divided->asked);
            placement = std::move(divided->placement);
        }
    }
    placement.has_host_steps = has_host_steps || asked.divided != nullptr;
    add_answers(asked.answers, asked.pins, placement);
    placed.fallbacks =
        fallbacks_of(*asked.graph, placement.device_of_node, asked.answers, asked.pins);
    placed.nodes_per_device = nodes_per_device(asked.answers, placement.device_of_node);
    LEAT_ASSIGN_OR_RETURN(
        placed.graph, cut_parts(*asked.graph, asked.list.devices, std::move(placement), constants));
    placed.graph.host = host;
    placed.divided = std::move(asked.divided);
    return placed;
}

}  // namespace leat
