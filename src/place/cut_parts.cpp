#include "place/cut_parts.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/elapsed.h"
#include "base/error.h"
#include "machine/device_answers.h"

namespace leat {
namespace {

// As CutPlacement::hosts says. Values of both graphs are the same.
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

// saved: of the first parts; the others are compiled, and their constants packed.
Result<CutPlacement> make_parts(const GraphData& graph,
                                std::span<const ListedDevice> devices,
                                std::span<const Cluster> clusters,
                                const DecidedParts& decided,
                                const SavedParts& saved,
                                PluginConstants& constants) {
    CutGraph cut =
        cut_clusters(graph, clusters, decided.device_of_node,
                     decided.streams.values_of_parts(decided.part_of_node, clusters.size()));
    CutPlacement placed;
    placed.parts.reserve(clusters.size());
    const auto start = std::chrono::steady_clock::now();
    for (size_t i = 0; i < clusters.size(); ++i) {
        const DevicePlace& place = devices[size_t(clusters[i].device)].place;
        const std::string_view executable =
            i < saved.executables.size() ? std::string_view(saved.executables[i]) : "";
        const std::span<const SavedConstant> packed =
            i < saved.constants.size() ? std::span<const SavedConstant>(saved.constants[i])
                                       : std::span<const SavedConstant>();
        LEAT_ASSIGN_OR_RETURN(
            std::shared_ptr<const DevicePart> part,
            executable.empty()
                ? DevicePart::compile(place, cut.bodies[i], std::move(cut.streamed_inputs[i]),
                                      constants)
                : DevicePart::load(place, cut.bodies[i], std::move(cut.streamed_inputs[i]),
                                   constants, executable, packed));
        placed.parts.push_back(std::move(part));
    }
    placed.compile_time_ns = nanoseconds_since(start);
    placed.hosts = hosts_of(graph, cut.graph, decided.device_of_node, devices);
    placed.graph = std::make_unique<GraphData>(std::move(cut.graph));
    return placed;
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

Result<CutPlacement> cut_parts(const GraphData& graph,
                               std::span<const ListedDevice> devices,
                               std::span<const Cluster> clusters,
                               const DecidedParts& decided,
                               PluginConstants& constants) {
    return make_parts(graph, devices, clusters, decided, {}, constants);
}

Result<CutPlacement> restore_parts(const GraphData& graph,
                                   std::span<const ListedDevice> devices,
                                   const DecidedParts& decided,
                                   const SavedParts& saved,
                                   const MappedWeights::Hashes& hashes) {
    LEAT_ASSIGN_OR_RETURN(const std::vector<Cluster> clusters,
                          clusters_of(graph, devices, decided, saved.executables.size()));
    if (!are_convex(graph, decided, clusters.size())) {
        return parse_error("its parts wait for each other");
    }
    for (const ListedDevice& device : devices) {
        if (device.host == nullptr) {
            (void)offer_custom_operators(graph, *device.place.backend);
        }
    }
    PluginConstants constants(&hashes);
    return make_parts(graph, devices, clusters, decided, saved, constants);
}

}  // namespace leat
