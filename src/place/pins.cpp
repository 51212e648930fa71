#include "place/pins.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace leat {
namespace {

constexpr size_t kMaxNamed = 10;

char lower(char c) {
    return c >= 'A' && c <= 'Z' ? char(c - 'A' + 'a') : c;
}

// Of the longest text that is in both, letters of any case. Names of nodes are paths, of which
// people remember a part.
size_t common_length(std::string_view a, std::string_view b) {
    size_t longest = 0;
    std::vector<size_t> ending_here(b.size() + 1);  // by end in b, for the end in a of the loop
    for (const char c : a) {
        for (size_t j = b.size(); j-- > 0;) {
            ending_here[j + 1] = lower(b[j]) == lower(c) ? ending_here[j] + 1 : 0;
            longest = std::max(longest, ending_here[j + 1]);
        }
    }
    return longest;
}

// All names in the graph's order, or those most like `wanted`.
std::string named_nodes(const GraphData& graph, std::string_view wanted) {
    std::vector<std::string_view> names;
    std::set<std::string_view> seen;
    for (const NodeData& node : graph.nodes) {
        if (!node.name.empty() && seen.insert(node.name).second) {
            names.emplace_back(node.name);
        }
    }
    const bool are_many = names.size() > kMaxNamed;
    if (are_many) {
        std::stable_sort(names.begin(), names.end(), [wanted](auto a, auto b) {
            return common_length(a, wanted) > common_length(b, wanted);
        });
        names.resize(kMaxNamed);
    }
    return names.empty()
               ? "a node with a name; the graph has none"
               : fmt::format("{}'{}'",
                             are_many ? "a node of the graph; the most similar are " : "one of ",
                             fmt::join(names, "', '"));
}

}  // namespace

Status check_pins(const GraphData& graph,
                  const std::map<std::string, std::string, std::less<>>& pins,
                  std::span<const ListedDevice> devices) {
    for (const auto& [name, device] : pins) {
        const auto is_pinned = [&name = name](const NodeData& node) { return node.name == name; };
        if (name.empty() || std::none_of(graph.nodes.begin(), graph.nodes.end(), is_pinned)) {
            return not_found("node '{}' is pinned to '{}', and the graph has no such node", name,
                             device)
                .with_file(graph.file)
                .with_found(fmt::format("{} nodes", graph.node_count()))
                .with_needed(named_nodes(graph, name));
        }
        const auto is_named = [&device = device](const ListedDevice& listed) {
            return listed.label == device;
        };
        if (std::none_of(devices.begin(), devices.end(), is_named)) {
            std::vector<std::string_view> labels;
            for (const ListedDevice& listed : devices) {
                labels.emplace_back(listed.label);
            }
            return not_found("node '{}' is pinned to '{}', which is not in the list of devices",
                             name, device)
                .with_file(graph.file)
                .with_needed(fmt::format("one of '{}'", fmt::join(labels, "', '")));
        }
    }
    return {};
}

}  // namespace leat
