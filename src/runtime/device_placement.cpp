#include "runtime/device_placement.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/error.h"
#include "partition/partition.h"
#include "runtime/cost_placement.h"
#include "runtime/device_annotations.h"
#include "runtime/device_answers.h"

namespace leat {
namespace {

// What every device that could run the node says.
std::string reasons_for(std::span<const DeviceAnswers> answers, size_t node) {
    std::vector<std::string> reasons;
    for (const DeviceAnswers& device : answers) {
        if (!device.nodes[node].refusal.empty()) {
            reasons.push_back(fmt::format("{}: {}", device.device, device.nodes[node].refusal));
        }
    }
    return fmt::format("{}", fmt::join(reasons, ", "));
}

// By node: the device that it is pinned to.
std::vector<int> pinned_devices(const GraphData& graph,
                                std::span<const ListedDevice> devices,
                                const NodeHistory& history) {
    std::vector<int> pins;
    pins.reserve(graph.nodes.size());
    for (const NodeData& node : graph.nodes) {
        const std::string_view pin = history.pin_of(node.name).device;
        const auto device =
            std::find_if(devices.begin(), devices.end(),
                         [pin](const ListedDevice& listed) { return listed.label == pin; });
        pins.push_back(pin.empty() ? kNotPinned : int(device - devices.begin()));
    }
    return pins;
}

// Nodes that cannot run where they are pinned.
Status judge_pins(const GraphData& graph,
                  const Placement& placement,
                  std::span<const DeviceAnswers> answers,
                  std::span<const int> pins) {
    std::vector<std::string> refused;
    std::vector<std::string> others;
    for (size_t n = 0; n < graph.nodes.size(); ++n) {
        if (pins[n] == kNotPinned || placement.device_of_node[n] != kNowhere) {
            continue;
        }
        const DeviceAnswers& pinned = answers[size_t(pins[n])];
        refused.push_back(fmt::format("{} is pinned to '{}', which refuses it: {}",
                                      graph.nodes[n].label(), pinned.device,
                                      pinned.nodes[n].refusal));
        for (const DeviceAnswers& device : answers) {
            if (device.nodes[n].refusal.empty()) {
                others.push_back(fmt::format("'{}' for {}", device.device, graph.nodes[n].label()));
            }
        }
    }
    if (refused.empty()) {
        return {};
    }
    return make_error(StatusCode::kPlacement, "{} of {} nodes cannot run where they are pinned",
                      refused.size(), graph.nodes.size())
        .with_file(graph.file)
        .with_found(fmt::format("{}", fmt::join(refused, "; ")))
        .with_needed(others.empty() ? "another list of devices: none of this one takes them"
                                    : fmt::format("no pin, or {}", fmt::join(others, ", ")));
}

Status refused_error(const GraphData& graph,
                     std::span<const std::string> refused,
                     std::string_view device) {
    return unsupported("{} of {} nodes cannot run on '{}'", refused.size(), graph.nodes.size(),
                       device)
        .with_file(graph.file)
        .with_found(fmt::format("{}", fmt::join(refused, "; ")));
}

// Nodes elsewhere than on the first device, where they are not pinned there: named, or an error
// that lists those that may not be.
Status judge(const GraphData& graph,
             const Placement& placement,
             std::span<const DeviceAnswers> answers,
             std::span<const int> pins,
             Fallback fallback,
             PlacedGraph& placed) {
    LEAT_RETURN_IF_ERROR(judge_pins(graph, placement, answers, pins));
    std::vector<std::string> refused;
    for (size_t n = 0; n < graph.nodes.size(); ++n) {
        const int device = placement.device_of_node[n];
        const bool falls_back =
            device > 0 && pins[n] == kNotPinned && !answers[0].nodes[n].refusal.empty();
        if (device == kNowhere || (falls_back && fallback == Fallback::kForbid)) {
            refused.push_back(
                fmt::format("{}: {}", graph.nodes[n].label(), reasons_for(answers, n)));
        } else if (falls_back) {
            placed.fallbacks.push_back(fmt::format("{} runs on {}: {}", graph.nodes[n].label(),
                                                   answers[size_t(device)].device,
                                                   reasons_for(answers, n)));
        }
        // What follows from shapes needs no device, and counts as the first one's.
        ++placed.nodes_per_device[answers[size_t(std::max(device, 0))].device];
    }
    if (refused.empty()) {
        return {};
    }
    return refused_error(graph, refused, answers[0].device)
        .with_hint(fallback == Fallback::kForbid && answers.size() > 1
                       ? "Fallback::kWarn lets the other devices run them"
                       : "");
}

// Without parts.
PlacementRecord record_of(const GraphData& graph,
                          const Placement& placement,
                          std::span<const DeviceAnswers> answers,
                          std::span<const int> pins,
                          AssumedDevices assumed) {
    PlacementRecord record;
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

struct ChosenPlacement {
    Placement placement;
    std::vector<Cluster> clusters;
    std::vector<int> listed_device_of_node;
    PlacementForecast forecast;
    ForecastOrder order;
};

// What the memory limit leaves for the values of each request; 0: there is no limit.
int64_t host_room_bytes(const GraphData& graph, const CompileOptions& options) {
    if (options.memory_limit_bytes <= 0) {
        return 0;
    }
    const int64_t left_bytes = options.memory_limit_bytes - graph.parameter_bytes();
    return std::max<int64_t>(left_bytes / std::max(options.max_requests, 1), 1);
}

// A device that is not in the list only runs what those of the list refuse. -1: there is none.
void keep_for_fallback(const Placement& listed, int device, std::span<DeviceAnswers> answers) {
    for (size_t n = 0; device >= 0 && n < listed.device_of_node.size(); ++n) {
        std::string& refusal = answers[size_t(device)].nodes[n].refusal;
        if (listed.device_of_node[n] != device && refusal.empty()) {
            refusal = "it is not in the list, and only runs what the others refuse";
        }
    }
}

// By the rule that the options name; an error where some node may not be where it has to be.
Result<ChosenPlacement> choose(const GraphData& graph,
                               std::span<DeviceAnswers> answers,
                               std::span<const int> pins,
                               std::span<const int> stages,
                               const AssumedDevices& assumed,
                               const CompileOptions& options,
                               int fallback_device,
                               PlacedGraph& placed) {
    ChosenPlacement chosen;
    const bool is_by_cost = options.placement_policy == PlacementPolicy::kCost;
    chosen.placement = is_by_cost ? place_nodes_asking_all(graph, answers, pins)
                                  : place_nodes(graph, answers, pins);
    chosen.listed_device_of_node = chosen.placement.device_of_node;
    if (is_by_cost) {
        PlacedGraph unplaced;
        LEAT_RETURN_IF_ERROR(
            judge(graph, chosen.placement, answers, pins, options.fallback, unplaced));
        keep_for_fallback(chosen.placement, fallback_device, answers);
        const AssumedShapes shapes = assume_shapes(graph, options);
        const GraphWork work = work_of_graph(graph, shapes.facts);
        LEAT_ASSIGN_OR_RETURN(
            CostPlacement found,
            place_by_cost({graph, chosen.placement, answers, pins, host_room_bytes(graph, options),
                           options.requests_in_flight},
                          assumed, work));
        chosen.placement.device_of_node = std::move(found.device_of_node);
        chosen.clusters = split_by_stage(found.clusters, stages);
        chosen.forecast = std::move(found.forecast);
        // Of parts as they were found.
        if (chosen.clusters.size() == found.clusters.size()) {
            chosen.order = std::move(found.order);
        }
        chosen.forecast.has_assumed_extents = shapes.has_assumed_extents || work.has_open_extents;
    }
    LEAT_RETURN_IF_ERROR(judge(graph, chosen.placement, answers, pins, options.fallback, placed));
    if (!is_by_cost) {
        chosen.clusters = find_clusters(graph, chosen.placement.device_of_node, answers, stages);
    }
    return chosen;
}

// For each node the devices besides its own: those that take it, and why the others do not.
void add_alternatives(std::span<const DeviceAnswers> answers,
                      std::span<const int> pins,
                      ChosenPlacement& chosen,
                      PlacementRecord& record) {
    record.forecast = std::move(chosen.forecast);
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

// Every node that the backend refuses, in one message.
Status check_capabilities(const GraphData& graph, const DeviceAnswers& host) {
    std::vector<std::string> refused;
    for (size_t n = 0; n < graph.nodes.size(); ++n) {
        if (!host.nodes[n].refusal.empty()) {
            refused.push_back(graph.nodes[n].label() + ": " + host.nodes[n].refusal);
        }
    }
    if (refused.empty()) {
        return {};
    }
    return refused_error(graph, refused, host.device);
}

// As PlacedGraph::hosts says. Values of both graphs are the same.
std::vector<const Backend*> hosts_of(const GraphData& whole,
                                     const GraphData& cut,
                                     std::span<const int> device_of_node,
                                     std::span<const ListedDevice> devices) {
    std::vector<const Backend*> hosts;
    hosts.reserve(cut.nodes.size());
    for (const NodeData& node : cut.nodes) {
        const auto output = std::find_if(node.outputs.begin(), node.outputs.end(),
                                         [](ValueId id) { return id.valid(); });
        const NodeId before =
            output == node.outputs.end() ? NodeId() : whole.value(*output).producer;
        const int device = before.valid() ? device_of_node[size_t(before.index)] : kNowhere;
        hosts.push_back(device < 0 ? nullptr : devices[size_t(device)].host);
    }
    return hosts;
}

// A list of nodes for each part; kParse: a node is on a device's part and not on the device.
Result<std::vector<Cluster>> clusters_of(const GraphData& graph,
                                         std::span<const ListedDevice> devices,
                                         const DecidedParts& decided,
                                         size_t part_count) {
    std::vector<Cluster> clusters(part_count, Cluster{-1, {}});
    for (size_t n = 0; n < graph.nodes.size(); ++n) {
        const int device = decided.device_of_node[n];
        const int part = decided.part_of_node[n];
        const bool is_on_host = device < 0 || devices[size_t(device)].host != nullptr;
        if (is_on_host && part == -1) {
            continue;
        }
        const bool is_part = part >= 0 && size_t(part) < part_count;
        if (is_on_host || !is_part ||
            (clusters[size_t(part)].device >= 0 && clusters[size_t(part)].device != device)) {
            return parse_error("{} is in part {} of another device", graph.nodes[n].label(), part);
        }
        clusters[size_t(part)].device = device;
        clusters[size_t(part)].nodes.push_back({int32_t(n)});
    }
    if (std::any_of(clusters.begin(), clusters.end(),
                    [](const Cluster& cluster) { return cluster.nodes.empty(); })) {
        return parse_error("one of {} parts is empty", part_count);
    }
    return clusters;
}

// No path leaves a part and comes back. Parts are numbered first, then all nodes.
bool are_convex(const GraphData& graph, std::span<const int> part_of_node, size_t part_count) {
    const auto unit_of = [&](int32_t node) {
        const int part = part_of_node[size_t(node)];
        return part >= 0 ? size_t(part) : part_count + size_t(node);
    };
    std::vector<std::vector<size_t>> followers(part_count + graph.nodes.size());
    std::vector<int64_t> waits(followers.size());
    for (int32_t n = 0; n < graph.node_count(); ++n) {
        for (const ValueId id : graph.nodes[size_t(n)].inputs) {
            const NodeId producer = id.valid() ? graph.value(id).producer : NodeId();
            if (producer.valid() && unit_of(producer.index) != unit_of(n)) {
                followers[unit_of(producer.index)].push_back(unit_of(n));
                ++waits[unit_of(n)];
            }
        }
    }
    std::vector<size_t> ready;
    for (size_t unit = 0; unit < waits.size(); ++unit) {
        if (waits[unit] == 0) {
            ready.push_back(unit);
        }
    }
    size_t done = 0;
    for (; done < ready.size(); ++done) {
        for (const size_t follower : std::vector<size_t>(followers[ready[done]])) {
            if (--waits[follower] == 0) {
                ready.push_back(follower);
            }
        }
    }
    return done == waits.size();
}

}  // namespace

Result<CutPlacement> restore_parts(const GraphData& graph,
                                   std::span<const ListedDevice> devices,
                                   const DecidedParts& decided,
                                   const SavedParts& saved,
                                   const MappedWeights::Hashes& hashes) {
    const std::span<const std::string> executables = saved.executables;
    LEAT_ASSIGN_OR_RETURN(const std::vector<Cluster> clusters,
                          clusters_of(graph, devices, decided, executables.size()));
    if (!are_convex(graph, decided.part_of_node, clusters.size())) {
        return parse_error("its parts wait for each other");
    }
    for (const ListedDevice& device : devices) {
        if (device.host == nullptr) {
            (void)offer_custom_operators(graph, *device.place.backend);
        }
    }
    CutGraph cut = cut_clusters(graph, clusters, decided.device_of_node);
    CutPlacement placed;
    PluginConstants constants(&hashes);
    for (size_t i = 0; i < clusters.size(); ++i) {
        const DevicePlace& place = devices[size_t(clusters[i].device)].place;
        const std::span<const SavedConstant> packed =
            i < saved.constants.size() ? std::span<const SavedConstant>(saved.constants[i])
                                       : std::span<const SavedConstant>();
        LEAT_ASSIGN_OR_RETURN(
            std::shared_ptr<const DevicePart> part,
            DevicePart::load(place, cut.bodies[i], constants, executables[i], packed));
        placed.parts.push_back(std::move(part));
    }
    placed.hosts = hosts_of(graph, cut.graph, decided.device_of_node, devices);
    placed.graph = std::make_unique<GraphData>(std::move(cut.graph));
    return placed;
}

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
    const Placement placement = place_nodes(graph, answers, pins);
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
    const auto host = std::find_if(devices.begin(), devices.end(), [](const ListedDevice& device) {
        return device.host != nullptr;
    });
    int fallback_device = -1;
    placed.has_host_steps = host != devices.end() || options.fallback != Fallback::kForbid;
    if (host == devices.end()) {
        LEAT_ASSIGN_OR_RETURN(placed.host, find_backend("cpu"));
        if (placed.has_host_steps) {
            fallback_device = int(devices.size());
            devices.push_back({std::string(placed.host->name()), placed.host, {}, nullptr});
        }
    } else {
        placed.host = host->host;
    }
    PluginConstants constants;
    LEAT_ASSIGN_OR_RETURN(std::vector<DeviceAnswers> answers, ask_all(graph, devices, constants));
    const std::vector<int> pins = pinned_devices(graph, devices, history);
    AssumedDevices assumed = assume_devices(devices, threads);
    take_reported_costs(graph, answers, assumed);
    LEAT_ASSIGN_OR_RETURN(ChosenPlacement chosen,
                          choose(graph, answers, pins, pipeline_stages(graph, history), assumed,
                                 options, fallback_device, placed));
    Placement& placement = chosen.placement;
    const std::vector<Cluster>& clusters = chosen.clusters;
    placed.record = record_of(graph, placement, answers, pins, assumed);
    if (chosen.forecast.is_by_cost) {
        add_alternatives(answers, pins, chosen, placed.record);
    }
    placed.deciding_inputs = std::move(placement.deciding_inputs);
    CutGraph cut = cut_clusters(graph, clusters, placement.device_of_node);
    placed.parts.reserve(clusters.size());
    for (size_t i = 0; i < clusters.size(); ++i) {
        for (const NodeId id : clusters[i].nodes) {
            placed.record.part_of_node[size_t(id.index)] = int(i);
        }
        LEAT_ASSIGN_OR_RETURN(std::shared_ptr<const DevicePart> part,
                              DevicePart::compile(devices[size_t(clusters[i].device)].place,
                                                  cut.bodies[i], constants));
        placed.parts.push_back(std::move(part));
    }
    placed.hosts = hosts_of(graph, cut.graph, placement.device_of_node, devices);
    placed.cut = std::make_unique<GraphData>(std::move(cut.graph));
    return placed;
}

}  // namespace leat
