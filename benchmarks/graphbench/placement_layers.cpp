#include "placement_layers.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

namespace leat::bench {
namespace {

class Layering {
  public:
    explicit Layering(const GraphPlacement& placement) : placement_(placement) {}

    PlacementLayers run() {
        add_vertices();
        add_arrows();
        find_layers();
        find_places();
        return std::move(drawing_);
    }

  private:
    void add_vertices() {
        drawing_.lanes.push_back({});
        lane_of_device_.assign(placement_.devices.size(), 0);
        for (size_t d = 0; d < placement_.devices.size(); ++d) {
            if (placement_.devices[d].node_count > 0) {
                lane_of_device_[d] = int(drawing_.lanes.size());
                drawing_.lanes.push_back({int(d), 1});
            }
        }
        vertex_of_node_.assign(placement_.nodes.size(), -1);
        for (size_t n = 0; n < placement_.nodes.size(); ++n) {
            const PlacedNode& node = placement_.nodes[n];
            const auto device = std::find_if(
                placement_.devices.begin(), placement_.devices.end(),
                [&node](const DeviceShare& each) { return each.device == node.device; });
            if (device != placement_.devices.end()) {
                vertex_of_node_[n] = int(drawing_.vertices.size());
                const int lane = lane_of_device_[size_t(device - placement_.devices.begin())];
                drawing_.vertices.push_back({int(n), {}, false, lane, 0, 0});
            }
        }
    }

    int end_of(const std::string& value, bool is_input) {
        const auto [at, is_new] =
            ends_.try_emplace({value, is_input}, int(drawing_.vertices.size()));
        if (is_new) {
            drawing_.vertices.push_back({-1, value, is_input, 0, 0, 0});
        }
        return at->second;
    }

    void add_arrows() {
        for (size_t e = 0; e < placement_.edges.size(); ++e) {
            const PlacedEdge& edge = placement_.edges[e];
            const int from = edge.from_node < 0 ? end_of(edge.value, true)
                                                : vertex_of_node_[size_t(edge.from_node)];
            const int to = edge.to_node < 0 ? end_of(edge.value, false)
                                            : vertex_of_node_[size_t(edge.to_node)];
            drawing_.arrows.push_back({from, to, int(e)});
        }
    }

    // Arrows are in the order of the nodes that they lead to, and nodes in that of the data.
    void find_layers() {
        std::vector<PlacementVertex>& vertices = drawing_.vertices;
        for (const PlacementArrow& arrow : drawing_.arrows) {
            int& layer = vertices[size_t(arrow.to)].layer;
            layer = std::max(layer, vertices[size_t(arrow.from)].layer + 1);
        }
        // Inputs go down to their first reader.
        std::map<int, int> first_reader;
        for (const PlacementArrow& arrow : drawing_.arrows) {
            const int layer = vertices[size_t(arrow.to)].layer;
            const auto [at, is_new] = first_reader.try_emplace(arrow.from, layer);
            at->second = std::min(at->second, layer);
        }
        for (const auto& [vertex, layer] : first_reader) {
            if (vertices[size_t(vertex)].is_input) {
                vertices[size_t(vertex)].layer = layer - 1;
            }
        }
        for (const PlacementVertex& vertex : vertices) {
            drawing_.layer_count = std::max(drawing_.layer_count, vertex.layer + 1);
        }
    }

    // Layer by layer: each at the mean of what it reads in its lane.
    void find_places() {
        const std::vector<PlacementVertex>& vertices = drawing_.vertices;
        sums_.resize(vertices.size());
        readers_.resize(vertices.size());
        for (const PlacementArrow& arrow : drawing_.arrows) {
            readers_[size_t(arrow.from)].push_back(arrow.to);
        }
        std::map<std::pair<int, int>, std::vector<int>> groups;  // by layer and lane
        for (size_t v = 0; v < vertices.size(); ++v) {
            groups[{vertices[v].layer, vertices[v].lane}].push_back(int(v));
        }
        for (auto& [key, group] : groups) {
            std::stable_sort(group.begin(), group.end(), [this](int a, int b) {
                return wanted_place(size_t(a)) < wanted_place(size_t(b));
            });
            int& width = drawing_.lanes[size_t(key.second)].width;
            width = std::max(width, int(group.size()));
            for (size_t place = 0; place < group.size(); ++place) {
                drawing_.vertices[size_t(group[place])].place = int(place);
                tell_readers(size_t(group[place]), double(place) - double(group.size() - 1) / 2);
            }
        }
    }

    double wanted_place(size_t vertex) const {
        const auto& [sum, count] = sums_[vertex];
        return count == 0 ? 0 : sum / count;
    }

    // place: from the middle of the lane.
    void tell_readers(size_t vertex, double place) {
        for (const int reader : readers_[vertex]) {
            if (drawing_.vertices[size_t(reader)].lane == drawing_.vertices[vertex].lane) {
                sums_[size_t(reader)].first += place;
                ++sums_[size_t(reader)].second;
            }
        }
    }

    const GraphPlacement& placement_;
    std::vector<int> lane_of_device_;
    std::vector<int> vertex_of_node_;                   // -1: it runs nowhere
    std::map<std::pair<std::string, bool>, int> ends_;  // by value, and whether it is an input
    std::vector<std::vector<int>> readers_;             // by vertex
    std::vector<std::pair<double, int>>
        sums_;  // by vertex: of places of what it reads, and how many
    PlacementLayers drawing_;
};

}  // namespace

int PlacementLayers::place_count(int lane, int layer) const {
    return int(std::count_if(vertices.begin(), vertices.end(), [&](const PlacementVertex& vertex) {
        return vertex.lane == lane && vertex.layer == layer;
    }));
}

PlacementLayers layers_of(const GraphPlacement& placement) {
    return Layering(placement).run();
}

}  // namespace leat::bench
