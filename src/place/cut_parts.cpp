#include "place/cut_parts.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/elapsed.h"
#include "base/error.h"
#include "machine/device_answers.h"

namespace leat {
namespace {

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

// saved: of the first parts; the others are compiled, and their constants packed.
Result<PlacedGraph> make_parts(const GraphData& graph,
                               std::span<const ListedDevice> devices,
                               Placement placement,
                               const SavedParts& saved,
                               PluginConstants& constants) {
    std::vector<int> device_of_part;
    for (size_t n = 0; n < graph.nodes.size(); ++n) {
        if (const int part = placement.part_of_node[n]; part >= 0) {
            device_of_part.resize(std::max(device_of_part.size(), size_t(part) + 1));
            device_of_part[size_t(part)] = placement.device_of_node[n];
        }
    }
    CutGraph cut = cut_clusters(
        graph, placement.part_of_node, placement.device_of_node,
        placement.streams.values_of_parts(placement.part_of_node, device_of_part.size()));
    PlacedGraph placed;
    placed.parts.reserve(device_of_part.size());
    const auto start = std::chrono::steady_clock::now();
    for (size_t i = 0; i < device_of_part.size(); ++i) {
        const DevicePlace& place = devices[size_t(device_of_part[i])].place;
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
    placed.part_compile_time_ns = nanoseconds_since(start);
    placed.hosts = hosts_of(graph, cut.graph, placement.device_of_node, devices);
    placed.cut = std::make_shared<const GraphData>(std::move(cut.graph));
    placed.placement = std::move(placement);
    return placed;
}

// Each part has nodes, of one device, and each node of a device is in a part.
Status check_parts(const GraphData& graph,
                   std::span<const ListedDevice> devices,
                   const Placement& placement,
                   size_t part_count) {
    std::vector<int> device_of_part(part_count, -1);
    for (size_t n = 0; n < graph.nodes.size(); ++n) {
        const int device = placement.device_of_node[n];
        const int part = placement.part_of_node[n];
        const bool is_on_host = device < 0 || devices[size_t(device)].host != nullptr;
        if (is_on_host && part == -1) {
            continue;
        }
        const bool is_part = part >= 0 && size_t(part) < part_count;
        if (is_on_host || !is_part ||
            (device_of_part[size_t(part)] >= 0 && device_of_part[size_t(part)] != device)) {
            return parse_error("{} is in part {} of another device", graph.nodes[n].label(), part);
        }
        device_of_part[size_t(part)] = device;
    }
    if (std::count(device_of_part.begin(), device_of_part.end(), -1) != 0) {
        return parse_error("one of {} parts is empty", part_count);
    }
    return {};
}

// No path leaves a part and comes back, also where parts have an order. Parts are numbered first,
// then all nodes.
bool are_convex(const GraphData& graph, const Placement& placement, size_t part_count) {
    const std::span<const int> part_of_node = placement.part_of_node;
    const auto unit_of = [&](int32_t node) {
        const int part = part_of_node[size_t(node)];
        return part >= 0 ? size_t(part) : part_count + size_t(node);
    };
    std::vector<std::vector<size_t>> followers(part_count + graph.nodes.size());
    std::vector<int64_t> waits(followers.size());
    for (const auto& [before, after] : placement.streams.node_orders) {
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

Result<PlacedGraph> cut_parts(const GraphData& graph,
                              std::span<const ListedDevice> devices,
                              Placement placement,
                              PluginConstants& constants) {
    return make_parts(graph, devices, std::move(placement), {}, constants);
}

Result<PlacedGraph> restore_parts(const GraphData& graph,
                                  std::span<const ListedDevice> devices,
                                  Placement placement,
                                  const SavedParts& saved,
                                  const MappedWeights::Hashes& hashes) {
    const size_t part_count = saved.executables.size();
    LEAT_RETURN_IF_ERROR(check_parts(graph, devices, placement, part_count));
    if (!are_convex(graph, placement, part_count)) {
        return parse_error("its parts wait for each other");
    }
    for (const ListedDevice& device : devices) {
        if (device.host == nullptr) {
            (void)offer_custom_operators(graph, *device.place.backend);
        }
    }
    PluginConstants constants(&hashes);
    return make_parts(graph, devices, std::move(placement), saved, constants);
}

}  // namespace leat
