#include "runtime/device_placement.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

#include "base/error.h"
#include "partition/partition.h"
#include "runtime/cost_placement.h"
#include "runtime/device_annotations.h"
#include "runtime/device_answers.h"
#include "runtime/operator_division.h"
#include "runtime/placement_judgement.h"

namespace leat {
namespace {

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

// A graph that is to be placed, with what devices say about it.
struct AskedGraph {
    const GraphData* graph;
    std::vector<DeviceAnswers> answers;
    std::vector<int> pins;    // by node, of the program
    std::vector<int> places;  // the same, and the devices of shards
    std::vector<int> stages;
    AssumedDevices assumed;
    std::vector<SplitPiece> pieces;  // by node; empty: the graph is not divided
};

struct ChosenPlacement {
    Placement placement;
    std::vector<Cluster> clusters;
    std::vector<int> listed_device_of_node;
    PlacementForecast forecast;
    ForecastOrder order;
    GraphWork work;  // by cost only
    ConstantStreams streams;
};

Result<AskedGraph> ask(const GraphData& graph,
                       std::span<const ListedDevice> devices,
                       const NodeHistory& history,
                       int threads,
                       PluginConstants& constants) {
    AskedGraph asked{&graph, {}, {}, {}, {}, {}, {}};
    LEAT_ASSIGN_OR_RETURN(asked.answers, ask_all(graph, devices, constants));
    LEAT_RETURN_IF_ERROR(find_streamable_inputs(graph, devices, constants, asked.answers));
    asked.pins = pinned_devices(graph, devices, history);
    asked.places = asked.pins;
    asked.stages = pipeline_stages(graph, history);
    asked.assumed = assume_devices(devices, threads);
    take_reported_costs(graph, asked.answers, asked.assumed);
    return asked;
}

// What the memory limit leaves for the values of each request; 0: there is no limit.
int64_t host_room_bytes(const GraphData& graph, const CompileOptions& options) {
    if (options.memory_limit_bytes <= 0) {
        return 0;
    }
    const int64_t left_bytes = options.memory_limit_bytes - graph.parameter_bytes();
    return std::max<int64_t>(left_bytes / std::max(options.max_requests, 1), 1);
}

// A device that is not in the list only runs what those of the list refuse, and, as the host, cuts
// and joins what is divided. -1: there is none.
void keep_for_fallback(const Placement& listed, int device, AskedGraph& asked) {
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

// That have values in the memories of devices at a time.
int request_count(const CompileOptions& options) {
    return std::max(options.max_requests, options.requests_in_flight);
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
    LEAT_ASSIGN_OR_RETURN(CostPlacement found,
                          place_by_cost({graph, chosen.placement, asked.answers, asked.places,
                                         host_room_bytes(graph, options),
                                         options.requests_in_flight, request_count(options)},
                                        asked.assumed, chosen.work));
    chosen.placement.device_of_node = std::move(found.device_of_node);
    chosen.streams = std::move(found.streams);
    chosen.clusters = split_by_stage(found.clusters, asked.stages);
    chosen.forecast = std::move(found.forecast);
    // Of parts as they were found.
    if (chosen.clusters.size() == found.clusters.size()) {
        chosen.order = std::move(found.order);
    }
    chosen.forecast.has_assumed_extents =
        shapes.has_assumed_extents || chosen.work.has_open_extents;
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
    LEAT_ASSIGN_OR_RETURN(std::optional<CostPlacement> streamed,
                          stream_as_listed({graph, chosen.placement, asked.answers, asked.places, 0,
                                            options.requests_in_flight, request_count(options)},
                                           asked.assumed, work, chosen.clusters));
    if (streamed) {
        chosen.clusters = split_by_stage(streamed->clusters, asked.stages);
        chosen.streams = std::move(streamed->streams);
    }
    return {};
}

// By the rule that the options name; an error where some node may not be where it has to be.
Result<ChosenPlacement> choose(const CompileOptions& options,
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

// The list that a graph is placed on.
struct PlacedList {
    std::vector<ListedDevice> devices;
    int fallback_device = -1;  // that is not in the list of the program; -1: none
};

struct DividedPlacement {
    std::unique_ptr<GraphData> graph;
    PlacedList list;
    AskedGraph asked;
    ChosenPlacement chosen;
    PlacedGraph placed;  // what choose() fills
};

std::vector<DividedOperator> divided_operators(const GraphData& graph,
                                               const OperatorDivision& division,
                                               std::span<const ListedDevice> devices) {
    std::vector<DividedOperator> divided;
    for (size_t i = 0; i < division.splits.size(); ++i) {
        const NodeSplit& split = division.splits[i];
        const NodeData& node = graph.node(split.node);
        DividedOperator& entry = divided.emplace_back();
        entry.name = node.name;
        entry.op_type = node.op_type;
        entry.axis = split.axis.name;
        int64_t begin = 0;
        for (size_t shard = 0; shard < split.extents.size(); ++shard) {
            const int64_t end = begin + split.extents[shard];
            entry.shards.push_back(
                {devices[size_t(division.device_of_shard[i][shard])].label, begin, end});
            begin = end;
        }
    }
    return divided;
}

// Where operators are divided the host has to cut and join, whatever is in the list.
PlacedList with_host(PlacedList list, const Backend& host) {
    const bool has_host =
        std::any_of(list.devices.begin(), list.devices.end(),
                    [](const ListedDevice& device) { return device.host != nullptr; });
    if (!has_host) {
        list.fallback_device = int(list.devices.size());
        list.devices.push_back({std::string(host.name()), &host, {}, nullptr});
    }
    return list;
}

// An error where some device or memory does not take the divided graph.
Result<DividedPlacement> place_divided(const DivisionQuestion& question,
                                       const OperatorDivision& division,
                                       PlacedList list,
                                       const NodeHistory& history,
                                       const CompileOptions& options,
                                       int threads,
                                       PluginConstants& constants) {
    LEAT_ASSIGN_OR_RETURN(SplitGraph split, split_operators(question.graph, division.splits));
    DividedPlacement divided{
        std::make_unique<GraphData>(std::move(split.graph)), std::move(list), {}, {}, {}};
    LEAT_ASSIGN_OR_RETURN(divided.asked,
                          ask(*divided.graph, divided.list.devices, history, threads, constants));
    AskedGraph& asked = divided.asked;
    for (size_t d = 0; d < asked.assumed.devices.size(); ++d) {
        asked.assumed.devices[d].derived_ns = derived_times(question, division, split, d);
    }
    for (size_t n = 0; n < split.pieces.size(); ++n) {
        const SplitPiece& piece = split.pieces[n];
        if (piece.role == SplitPiece::Role::kShard) {
            asked.places[n] = division.device_of_shard[size_t(piece.split)][size_t(piece.shard)];
        }
    }
    asked.pieces = std::move(split.pieces);
    LEAT_ASSIGN_OR_RETURN(divided.chosen,
                          choose(options, divided.list.fallback_device, asked, divided.placed));
    PlacementForecast& forecast = divided.chosen.forecast;
    forecast.divided = divided_operators(question.graph, division, divided.list.devices);
    forecast.undivided_ns = question.makespan_ns;
    return divided;
}

// The first of what is proposed whose results come sooner, or, with several requests in flight,
// more often, than those of the graph as it is, by a margin that is more than rounding.
std::optional<DividedPlacement> divide_operators(const AskedGraph& asked,
                                                 const ChosenPlacement& chosen,
                                                 const PlacedList& list,
                                                 const Backend& host,
                                                 const NodeHistory& history,
                                                 const CompileOptions& options,
                                                 int threads,
                                                 PluginConstants& constants) {
    constexpr double kLongest = 0.98;
    const DivisionQuestion question{*asked.graph,
                                    asked.answers,
                                    asked.pins,
                                    asked.assumed,
                                    chosen.work,
                                    chosen.placement.device_of_node,
                                    chosen.forecast.makespan_ns};
    for (const OperatorDivision& division : propose_divisions(question)) {
        Result<DividedPlacement> divided = place_divided(question, division, with_host(list, host),
                                                         history, options, threads, constants);
        if (divided.ok() &&
            divided->chosen.forecast.period_ns < kLongest * chosen.forecast.period_ns) {
            return *std::move(divided);
        }
    }
    return std::nullopt;
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

// Compiles the parts, and leaves a graph with a node for each.
Status cut_parts(const GraphData& graph,
                 std::span<const ListedDevice> devices,
                 ChosenPlacement& chosen,
                 PluginConstants& constants,
                 PlacedGraph& placed) {
    const std::vector<Cluster>& clusters = chosen.clusters;
    placed.deciding_inputs = std::move(chosen.placement.deciding_inputs);
    for (size_t i = 0; i < clusters.size(); ++i) {
        for (const NodeId id : clusters[i].nodes) {
            placed.record.part_of_node[size_t(id.index)] = int(i);
        }
    }
    placed.record.streams = std::move(chosen.streams);
    CutGraph cut = cut_clusters(
        graph, clusters, chosen.placement.device_of_node,
        placed.record.streams.values_of_parts(placed.record.part_of_node, clusters.size()));
    placed.parts.reserve(clusters.size());
    for (size_t i = 0; i < clusters.size(); ++i) {
        LEAT_ASSIGN_OR_RETURN(
            std::shared_ptr<const DevicePart> part,
            DevicePart::compile(devices[size_t(clusters[i].device)].place, cut.bodies[i],
                                std::move(cut.streamed_inputs[i]), constants));
        placed.parts.push_back(std::move(part));
    }
    placed.hosts = hosts_of(graph, cut.graph, chosen.placement.device_of_node, devices);
    placed.cut = std::make_unique<GraphData>(std::move(cut.graph));
    return {};
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

// No path leaves a part and comes back, also where parts have an order. Parts are numbered first,
// then all nodes.
bool are_convex(const GraphData& graph, const DecidedParts& decided, size_t part_count) {
    const std::span<const int> part_of_node = decided.part_of_node;
    const auto unit_of = [&](int32_t node) {
        const int part = part_of_node[size_t(node)];
        return part >= 0 ? size_t(part) : part_count + size_t(node);
    };
    std::vector<std::vector<size_t>> followers(part_count + graph.nodes.size());
    std::vector<int64_t> waits(followers.size());
    for (const auto& [before, after] : decided.streams.node_orders) {
        if (unit_of(before) != unit_of(after)) {
            followers[unit_of(before)].push_back(unit_of(after));
            ++waits[unit_of(after)];
        }
    }
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
    if (!are_convex(graph, decided, clusters.size())) {
        return parse_error("its parts wait for each other");
    }
    for (const ListedDevice& device : devices) {
        if (device.host == nullptr) {
            (void)offer_custom_operators(graph, *device.place.backend);
        }
    }
    CutGraph cut =
        cut_clusters(graph, clusters, decided.device_of_node,
                     decided.streams.values_of_parts(decided.part_of_node, clusters.size()));
    CutPlacement placed;
    PluginConstants constants(&hashes);
    for (size_t i = 0; i < clusters.size(); ++i) {
        const DevicePlace& place = devices[size_t(clusters[i].device)].place;
        const std::span<const SavedConstant> packed =
            i < saved.constants.size() ? std::span<const SavedConstant>(saved.constants[i])
                                       : std::span<const SavedConstant>();
        LEAT_ASSIGN_OR_RETURN(
            std::shared_ptr<const DevicePart> part,
            executables[i].empty()
                ? DevicePart::compile(place, cut.bodies[i], std::move(cut.streamed_inputs[i]),
                                      constants)
                : DevicePart::load(place, cut.bodies[i], std::move(cut.streamed_inputs[i]),
                                   constants, executables[i], packed));
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
    PlacedList list{std::move(devices), -1};
    const auto host =
        std::find_if(list.devices.begin(), list.devices.end(),
                     [](const ListedDevice& device) { return device.host != nullptr; });
    placed.has_host_steps = host != list.devices.end() || options.fallback != Fallback::kForbid;
    if (host == list.devices.end()) {
        LEAT_ASSIGN_OR_RETURN(placed.host, find_backend("cpu"));
        if (placed.has_host_steps) {
            list = with_host(std::move(list), *placed.host);
        }
    } else {
        placed.host = host->host;
    }
    PluginConstants constants;
    LEAT_ASSIGN_OR_RETURN(AskedGraph asked, ask(graph, list.devices, history, threads, constants));
    LEAT_ASSIGN_OR_RETURN(ChosenPlacement chosen,
                          choose(options, list.fallback_device, asked, placed));
    if (chosen.forecast.is_by_cost && options.divide_operators && asked.stages.empty()) {
        std::optional<DividedPlacement> divided = divide_operators(
            asked, chosen, list, *placed.host, history, options, threads, constants);
        if (divided) {
            placed.divided = std::move(divided->graph);
            placed.has_host_steps = true;
            placed.fallbacks = std::move(divided->placed.fallbacks);
            placed.nodes_per_device = std::move(divided->placed.nodes_per_device);
            list = std::move(divided->list);
            asked = std::move(divided->asked);
            chosen = std::move(divided->chosen);
        }
    }
    placed.record = record_of(*asked.graph, chosen.placement, asked.answers, asked.pins,
                              std::move(asked.assumed));
    if (chosen.forecast.is_by_cost) {
        add_alternatives(asked.answers, asked.pins, chosen, placed.record);
    }
    LEAT_RETURN_IF_ERROR(cut_parts(*asked.graph, list.devices, chosen, constants, placed));
    return placed;
}

}  // namespace leat
