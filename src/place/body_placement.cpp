#include "place/body_placement.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/error.h"
#include "graph/bodies.h"
#include "graph/inference.h"
#include "place/device_placement.h"

namespace leat {
namespace {

// Devices that have memory of their own, and all hosts.
std::vector<ListedDevice> devices_for_bodies(std::span<const ListedDevice> devices) {
    std::vector<ListedDevice> kept;
    for (const ListedDevice& device : devices) {
        if (device.host != nullptr || !works_in_host_memory(device.place)) {
            kept.push_back(device);
        }
    }
    return kept;
}

// Devices ask for the types of all values.
Result<GraphData> typed_copy(const GraphData& body, std::span<const ValueFact> given) {
    GraphData typed = body;
    LEAT_ASSIGN_OR_RETURN(const std::vector<ValueFact> facts, infer_graph(typed, given, {}));
    for (size_t value = 0; value < facts.size(); ++value) {
        if (!typed.values[value].constant) {
            typed.values[value].type = facts[value].type;
        }
    }
    return typed;
}

Result<std::shared_ptr<const PlacedGraph>> place_body(const GraphData& body,
                                                      std::span<const ValueFact> given,
                                                      std::span<const ListedDevice> devices,
                                                      const CompileOptions& options,
                                                      int threads) {
    LEAT_ASSIGN_OR_RETURN(const GraphData typed, typed_copy(body, given));
    LEAT_ASSIGN_OR_RETURN(
        DevicePlacement placed,
        place_on_devices(typed, {devices.begin(), devices.end()}, NodeHistory(), options, threads));
    LEAT_RETURN_IF_ERROR(place_bodies(typed, devices, options, threads, placed.graph));
    const bool is_on_devices = !placed.graph.parts.empty() || !placed.graph.bodies.empty();
    return is_on_devices ? std::make_shared<const PlacedGraph>(std::move(placed.graph)) : nullptr;
}

}  // namespace

Status place_bodies(const GraphData& whole,
                    std::span<const ListedDevice> devices,
                    const CompileOptions& options,
                    int threads,
                    PlacedGraph& placed) {
    const GraphData& graph = placed.cut == nullptr ? whole : *placed.cut;
    const std::vector<ListedDevice> usable = devices_for_bodies(devices);
    const bool has_bodies = std::any_of(graph.nodes.begin(), graph.nodes.end(),
                                        [](const NodeData& node) { return node.has_bodies(); });
    const bool has_devices = std::any_of(usable.begin(), usable.end(),
                                         [](const ListedDevice& own) { return !own.host; });
    if (!has_bodies || !has_devices || options.placement_policy != PlacementPolicy::kListOrder) {
        return {};
    }
    LEAT_ASSIGN_OR_RETURN(const std::vector<ValueFact> facts, infer_graph(whole, {}, {}));
    for (int32_t n = 0; n < graph.node_count(); ++n) {
        const NodeData& node = graph.nodes[size_t(n)];
        const Backend* const host = placed.hosts.empty() ? placed.host : placed.hosts[size_t(n)];
        if (!has_planned_bodies(node) || host == nullptr || !host->plans_bodies()) {
            continue;
        }
        const auto fact_of = [&facts](ValueId id) -> const ValueFact& {
            return facts[size_t(id.index)];
        };
        LEAT_ASSIGN_OR_RETURN(const BodyInputs given,
                              infer_body_inputs(node, operand_facts(node, fact_of)));
        for (const auto& [key, body_facts] : given) {
            Result<std::shared_ptr<const PlacedGraph>> body =
                place_body(*node.body(key), body_facts, usable, options, threads);
            if (!body.ok()) {
                return std::move(body).error().within(body_path(node, key));
            }
            if (*body != nullptr) {
                placed.bodies.emplace(std::pair(n, key), *std::move(body));
            }
        }
    }
    return {};
}

}  // namespace leat
