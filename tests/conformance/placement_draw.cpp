#include "placement_draw.h"

#include <fmt/core.h>

#include <algorithm>
#include <numeric>
#include <set>
#include <string_view>

#include "base/error.h"
#include "graph/graph_data.h"

namespace leat::placements {
namespace {

using NodeIndex = std::map<std::string, int, std::less<>>;

NodeIndex index_of_nodes(const Graph& graph) {
    NodeIndex index;
    for (const NodeData& node : graph.data().nodes) {
        index.emplace(node.name, int(index.size()));
    }
    return index;
}

std::vector<std::string> split(const std::string& list) {
    std::vector<std::string> parts;
    for (size_t begin = 0; begin <= list.size();) {
        const size_t end = std::min(list.find(',', begin), list.size());
        parts.push_back(list.substr(begin, end - begin));
        begin = end + 1;
    }
    return parts;
}

// What becomes of every node where `device` has all that it takes. `optimize` false: nodes stay
// apart, so that each one's own refusal is heard.
Result<std::vector<PlacedNode>> placed_by(const Runtime& runtime,
                                          const Graph& graph,
                                          const std::string& device,
                                          bool optimize) {
    CompileOptions options;
    options.devices = device == "cpu" ? device : device + ",cpu";
    options.fallback = Fallback::kAllow;
    options.optimize = optimize;
    LEAT_ASSIGN_OR_RETURN(const CompiledGraph compiled, runtime.compile(graph, options));
    return compiled.report().placement.nodes;
}

// Disjoint sets, by a member each.
class Groups {
  public:
    explicit Groups(size_t count) : parent_(count) { std::iota(parent_.begin(), parent_.end(), 0); }
    int find(int member) {
        while (parent_[size_t(member)] != member) {
            member = parent_[size_t(member)] = parent_[size_t(parent_[size_t(member)])];
        }
        return member;
    }
    int add() {
        parent_.push_back(int(parent_.size()));
        return parent_.back();
    }
    void join(int a, int b) { parent_[size_t(find(a))] = find(b); }

  private:
    std::vector<int> parent_;
};

// Nodes that passes make have names that the graph does not know; they tie their parts together.
std::vector<int> groups_of(NodeIndex index, const std::vector<PlacedNode>& placed) {
    const size_t count = index.size();
    Groups groups(count);
    for (const PlacedNode& node : placed) {
        if (node.reason != PlacementReason::kJoined) {
            continue;
        }
        const auto [into, is_new] = index.emplace(node.joined_into, -1);
        if (is_new) {
            into->second = groups.add();
        }
        groups.join(index.at(node.name), into->second);
    }
    std::vector<int> group(count);
    for (size_t n = 0; n < count; ++n) {
        group[n] = groups.find(int(n));
    }
    return group;
}

// Of one draw, by group.
struct Draw {
    const PlacementChoices& choices;
    SplitMix& random;
    int stay_percent;  // of nodes that follow an operand's device
    std::map<int, int> device_of_group;

    // -1: none takes the whole group.
    int draw(int group, const std::vector<int>& takers, int neighbour) {
        if (const auto found = device_of_group.find(group); found != device_of_group.end()) {
            return found->second;
        }
        int device = -1;
        const bool can_stay = std::find(takers.begin(), takers.end(), neighbour) != takers.end();
        if (can_stay && random.below(100) < stay_percent) {
            device = neighbour;
        } else if (!takers.empty()) {
            device = takers[size_t(random.below(int32_t(takers.size())))];
        }
        device_of_group.emplace(group, device);
        return device;
    }
};

// Devices that take all members, by group; without those that run nowhere.
std::map<int, std::vector<int>> takers_of_groups(const PlacementChoices& choices,
                                                 const std::vector<int>& group) {
    std::map<int, std::vector<int>> takers;
    for (size_t n = 0; n < group.size(); ++n) {
        const std::vector<int>& own = choices.takers[n];
        if (own.empty()) {
            continue;
        }
        const auto [at, is_first] = takers.emplace(group[n], own);
        if (!is_first) {
            std::vector<int> both;
            std::set_intersection(at->second.begin(), at->second.end(), own.begin(), own.end(),
                                  std::back_inserter(both));
            at->second = std::move(both);
        }
    }
    return takers;
}

}  // namespace

void name_all_nodes(Graph& graph) {
    std::set<std::string, std::less<>> names;
    int number = 0;
    for (NodeData& node : graph.data().nodes) {
        while (node.name.empty() || !names.insert(node.name).second) {
            node.name = fmt::format("node{}:{}", number++, node.op_type);
        }
    }
}

PlacementChoices PlacementChoices::among(std::span<const std::string> some) const {
    PlacementChoices chosen{{some.begin(), some.end()}, {}, group, free_count};
    for (const std::vector<int>& own : takers) {
        std::vector<int>& kept = chosen.takers.emplace_back();
        for (size_t d = 0; d < some.size(); ++d) {
            if (std::any_of(own.begin(), own.end(),
                            [&](int taker) { return devices[size_t(taker)] == some[d]; })) {
                kept.push_back(int(d));
            }
        }
    }
    return chosen;
}

Result<PlacementChoices> find_choices(const Runtime& runtime,
                                      const Graph& graph,
                                      const std::string& devices) {
    const NodeIndex index = index_of_nodes(graph);
    PlacementChoices choices;
    choices.devices = split(devices);
    choices.takers.resize(index.size());
    for (size_t d = 0; d < choices.devices.size(); ++d) {
        LEAT_ASSIGN_OR_RETURN(const std::vector<PlacedNode> placed,
                              placed_by(runtime, graph, choices.devices[d], false));
        for (const PlacedNode& node : placed) {
            const auto found = index.find(node.name);
            if (found != index.end() && node.device == choices.devices[d]) {
                choices.takers[size_t(found->second)].push_back(int(d));
            }
        }
    }
    LEAT_ASSIGN_OR_RETURN(const std::vector<PlacedNode> optimized,
                          placed_by(runtime, graph, "reference", true));
    choices.group = groups_of(index, optimized);
    choices.free_count =
        int(std::count_if(optimized.begin(), optimized.end(), [&](const PlacedNode& node) {
            const auto found = index.find(node.name);
            return !node.device.empty() &&
                   (found == index.end() || choices.takers[size_t(found->second)].size() > 1);
        }));
    return choices;
}

Pins draw_pins(const Graph& graph, const PlacementChoices& choices, Cut cut, SplitMix& random) {
    constexpr int kStayPercents[] = {0, 50, 90};
    const GraphData& data = graph.data();
    std::vector<int> group = choices.group;
    if (cut == Cut::kAnywhere) {
        std::iota(group.begin(), group.end(), 0);
    }
    const std::map<int, std::vector<int>> takers = takers_of_groups(choices, group);
    Draw draw{choices, random, kStayPercents[random.below(int32_t(std::size(kStayPercents)))], {}};
    std::vector<int> device_of_node(data.nodes.size(), -1);
    Pins pins;
    for (size_t n = 0; n < data.nodes.size(); ++n) {
        if (choices.takers[n].empty()) {
            continue;
        }
        int neighbour = -1;
        for (const ValueId input : data.nodes[n].inputs) {
            const NodeId producer = input.valid() ? data.value(input).producer : NodeId();
            if (producer.valid() && device_of_node[size_t(producer.index)] >= 0) {
                neighbour = device_of_node[size_t(producer.index)];
                break;
            }
        }
        const int device = draw.draw(group[n], takers.at(group[n]), neighbour);
        device_of_node[n] = device;
        if (device >= 0) {
            pins.emplace(data.nodes[n].name, choices.devices[size_t(device)]);
        }
    }
    return pins;
}

}  // namespace leat::placements
