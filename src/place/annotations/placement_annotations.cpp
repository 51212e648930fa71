#include "place/annotations/placement_annotations.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "partition/split/operator_split.h"
#include "passes/node_history.h"

namespace leat {
namespace {

// What runs as one: a part, or a node on a host.
class PlacedUnits {
  public:
    PlacedUnits(const Placement& placement, const GraphData& graph)
        : placement_(placement), graph_(graph), unit_of_node_(graph.nodes.size(), -1) {
        std::map<int, int> unit_of_part;
        for (size_t n = 0; n < graph.nodes.size(); ++n) {
            if (placement.device_of_node[n] < 0) {
                continue;
            }
            const int part = placement.part_of_node[n];
            const auto next = int(units_.size());
            const int unit = part < 0 ? next : unit_of_part.try_emplace(part, next).first->second;
            if (unit == next) {
                units_.push_back({placement.device_of_node[n], part >= 0, {}});
            }
            unit_of_node_[n] = unit;
        }
        find_producers();
    }

    // By node. Rises from each part to what takes data from it and falls nowhere; parts of one
    // device have different ones.
    std::vector<int> stages() {
        std::vector<int> stage_of_unit(units_.size());
        std::map<int, int> next_of_device;  // for parts
        for (const int unit : order()) {
            int& stage = stage_of_unit[size_t(unit)];
            const Unit& own = units_[size_t(unit)];
            for (const int producer : own.producers) {
                const bool is_apart = own.is_part || units_[size_t(producer)].is_part;
                stage = std::max(stage, stage_of_unit[size_t(producer)] + (is_apart ? 1 : 0));
            }
            if (own.is_part) {
                int& next = next_of_device[own.device];
                stage = std::max(stage, next);
                next = stage + 1;
            }
        }
        std::vector<int> stages;
        stages.reserve(unit_of_node_.size());
        for (const int unit : unit_of_node_) {
            stages.push_back(unit < 0 ? kNoStage : stage_of_unit[size_t(unit)]);
        }
        return stages;
    }

  private:
    struct Unit {
        int device = 0;
        bool is_part = false;
        std::set<int> producers;
    };

    void find_producers() {
        for (size_t n = 0; n < graph_.nodes.size(); ++n) {
            for (const ValueId id : graph_.nodes[n].inputs) {
                const NodeId producer = id.valid() ? graph_.value(id).producer : NodeId();
                const int unit = producer.valid() ? unit_of_node_[size_t(producer.index)] : -1;
                if (unit >= 0 && unit_of_node_[n] >= 0 && unit != unit_of_node_[n]) {
                    units_[size_t(unit_of_node_[n])].producers.insert(unit);
                }
            }
        }
    }

    // Producers first; of several that may be next the one with the first node.
    std::vector<int> order() const {
        std::vector<size_t> missing;
        std::vector<std::vector<int>> readers(units_.size());
        std::set<int> ready;
        for (size_t unit = 0; unit < units_.size(); ++unit) {
            missing.push_back(units_[unit].producers.size());
            for (const int producer : units_[unit].producers) {
                readers[size_t(producer)].push_back(int(unit));
            }
            if (missing.back() == 0) {
                ready.insert(int(unit));
            }
        }
        std::vector<int> order;
        while (!ready.empty()) {
            const int unit = *ready.begin();
            ready.erase(ready.begin());
            order.push_back(unit);
            for (const int reader : readers[size_t(unit)]) {
                if (--missing[size_t(reader)] == 0) {
                    ready.insert(reader);
                }
            }
        }
        return order;
    }

    const Placement& placement_;
    const GraphData& graph_;
    std::vector<int> unit_of_node_;  // -1: it runs nowhere
    std::vector<Unit> units_;
};

// The node of the compiled graph that does the work of the one of that name; -1: none does, or
// several do.
class SurvivingNodes {
  public:
    SurvivingNodes(const Placement& placement, const GraphData& compiled) {
        for (size_t n = 0; n < compiled.nodes.size(); ++n) {
            nodes_.try_emplace(compiled.nodes[n].name, int(n));
        }
        for (const PlacedNode& gone : placement.gone) {
            if (gone.reason == PlacementReason::kJoined) {
                joined_.try_emplace(gone.name, gone.joined_into);
            }
        }
    }

    int find(std::string_view name) const {
        for (size_t step = 0; step <= joined_.size(); ++step) {
            if (const auto found = nodes_.find(name); found != nodes_.end()) {
                return found->second;
            }
            const auto joined = joined_.find(name);
            if (joined == joined_.end()) {
                break;
            }
            name = joined->second;
        }
        return -1;
    }

  private:
    std::map<std::string_view, int> nodes_;
    std::map<std::string_view, std::string_view> joined_;
};

// A divided operator as annotations of its node.
class DivisionWriter {
  public:
    DivisionWriter(const Placement& placement,
                   const GraphData& compiled,
                   std::span<const int> stages)
        : placement_(placement), stages_(stages) {
        for (const DividedOperator& divided : placement.forecast.divided) {
            divided_.try_emplace(divided.name, &divided);
        }
        for (size_t n = 0; n < compiled.nodes.size(); ++n) {
            node_of_name_.try_emplace(compiled.nodes[n].name, n);
        }
    }

    // Nothing for other nodes, and for divisions that annotations cannot say.
    std::optional<NodeDeviceConfiguration> write(const NodeData& node) const {
        const auto found = divided_.find(node.name);
        if (found == divided_.end()) {
            return std::nullopt;
        }
        const DividedOperator& divided = *found->second;
        const std::vector<int64_t> devices = even_shards(divided);
        const std::vector<ShardingSpec> inputs = input_specs(node, divided, devices);
        const bool is_summed = divided.result_axis < 0;
        const bool says_axis =
            !is_summed || std::any_of(inputs.begin(), inputs.end(),
                                      [](const ShardingSpec& spec) { return !spec.axes.empty(); });
        if (devices.empty() || !says_axis) {
            return std::nullopt;
        }
        NodeDeviceConfiguration own;
        own.pipeline_stage = stage_of(divided);
        if (is_summed) {
            own.sharding.push_back({true, 0, {device_of_sum(divided)}, {}, {}});
        } else {
            own.sharding.push_back(sharded({true, 0, devices, {}, {}}, divided.result_axis,
                                           divided.shards.back().end));
        }
        own.sharding.insert(own.sharding.end(), inputs.begin(), inputs.end());
        return own;
    }

  private:
    int64_t number_of(std::string_view label) const {
        const std::vector<AssumedDevice>& devices = placement_.assumed.devices;
        const auto found =
            std::find_if(devices.begin(), devices.end(),
                         [label](const AssumedDevice& device) { return device.label == label; });
        return found - devices.begin();
    }

    // Uneven ones as several that follow each other on one device. Empty: they would be too many.
    std::vector<int64_t> even_shards(const DividedOperator& divided) const {
        constexpr int64_t kMostShards = 256;
        int64_t step = 0;
        for (const OperatorShard& shard : divided.shards) {
            step = std::gcd(step, shard.end - shard.begin);
        }
        std::vector<int64_t> devices;
        if (divided.shards.back().end / step > kMostShards) {
            return devices;
        }
        for (const OperatorShard& shard : divided.shards) {
            devices.insert(devices.end(), size_t((shard.end - shard.begin) / step),
                           number_of(shard.device));
        }
        return devices;
    }

    static ShardingSpec sharded(ShardingSpec spec, int axis, int64_t extent) {
        spec.axes = {{axis, {{extent, "", std::ssize(spec.devices)}}}};
        return spec;
    }

    // Of each operand that the node has once: annotations go by its name.
    static std::vector<ShardingSpec> input_specs(const NodeData& node,
                                                 const DividedOperator& divided,
                                                 const std::vector<int64_t>& devices) {
        constexpr int64_t kAll = -1;  // the number of a group
        std::vector<ShardingSpec> specs;
        for (size_t i = 0; i < node.inputs.size() && i < divided.input_axes.size(); ++i) {
            const ValueId id = node.inputs[i];
            if (!id.valid() || std::count(node.inputs.begin(), node.inputs.end(), id) > 1) {
                continue;
            }
            const int axis = divided.input_axes[i];
            ShardingSpec spec{false, int32_t(i), {}, {}, {}};
            if (axis >= 0) {
                spec.devices = devices;
                spec = sharded(std::move(spec), axis, divided.shards.back().end);
            } else if (axis == kFirstShardOnly) {
                spec.devices = {devices.front()};
            } else {
                const std::set<int64_t> all(devices.begin(), devices.end());
                spec.devices = {kAll};
                spec.groups[kAll] = {all.begin(), all.end()};
            }
            specs.push_back(std::move(spec));
        }
        return specs;
    }

    // Where the last sum runs; the first shard's device if it is not known by its name.
    int64_t device_of_sum(const DividedOperator& divided) const {
        const auto sum = node_of_name_.find(sum_name(divided.name, divided.shards.size() - 1));
        return sum == node_of_name_.end() ? number_of(divided.shards.front().device)
                                          : placement_.device_of_node[sum->second];
    }

    // The last of those of its shards: producers have none above, readers none below.
    std::optional<int32_t> stage_of(const DividedOperator& divided) const {
        std::optional<int32_t> stage;
        for (const OperatorShard& shard : divided.shards) {
            const auto node =
                node_of_name_.find(shard_name(divided.name, divided.axis, shard.begin, shard.end));
            if (node != node_of_name_.end()) {
                stage = std::max(stage.value_or(0), stages_[node->second]);
            }
        }
        return stage;
    }

    const Placement& placement_;
    const std::span<const int> stages_;
    std::map<std::string_view, const DividedOperator*> divided_;
    std::map<std::string, size_t, std::less<>> node_of_name_;  // of the compiled graph
};

// A host that came in only to cut and join is in nobody's list.
void drop_unnamed_host(const std::string& name, const Placement& placement, GraphData& graph) {
    DeviceConfiguration& configuration = graph.device_configurations.back();
    const int64_t last = std::ssize(configuration.devices) - 1;
    const auto names_last = [last](const ShardingSpec& spec) {
        return std::find(spec.devices.begin(), spec.devices.end(), last) != spec.devices.end();
    };
    const auto is_on_last = [&](const NodeData& node) {
        return std::any_of(node.device_configurations.begin(), node.device_configurations.end(),
                           [&](const NodeDeviceConfiguration& own) {
                               return own.configuration == name &&
                                      std::any_of(own.sharding.begin(), own.sharding.end(),
                                                  names_last);
                           });
    };
    if (last > 0 && placement.assumed.devices.back().is_host &&
        !placement.forecast.divided.empty() &&
        std::none_of(graph.nodes.begin(), graph.nodes.end(), is_on_last)) {
        configuration.devices.pop_back();
        --configuration.device_count;
    }
}

}  // namespace

void annotate_placement(const std::string& name,
                        const Placement& placement,
                        const GraphData& compiled,
                        GraphData& graph) {
    DeviceConfiguration configuration{name, int32_t(placement.assumed.devices.size()), {}};
    for (const AssumedDevice& device : placement.assumed.devices) {
        configuration.devices.push_back(device.label);
    }
    const auto is_old = [&name](const DeviceConfiguration& own) { return own.name == name; };
    std::erase_if(graph.device_configurations, is_old);
    graph.device_configurations.push_back(std::move(configuration));

    const std::vector<int> stages = PlacedUnits(placement, compiled).stages();
    const SurvivingNodes surviving(placement, compiled);
    const DivisionWriter divisions(placement, compiled, stages);
    for (NodeData& node : graph.nodes) {
        std::erase_if(node.device_configurations,
                      [&name](const auto& own) { return own.configuration == name; });
        if (std::optional<NodeDeviceConfiguration> divided = divisions.write(node); divided) {
            divided->configuration = name;
            node.device_configurations.push_back(*std::move(divided));
            continue;
        }
        const int placed = surviving.find(node.name);
        if (node.dead || placed < 0 || placement.device_of_node[size_t(placed)] < 0) {
            continue;
        }
        NodeDeviceConfiguration& own = node.device_configurations.emplace_back();
        own.configuration = name;
        own.pipeline_stage = stages[size_t(placed)];
        for (size_t i = 0; i < node.outputs.size(); ++i) {
            if (node.outputs[i].valid()) {
                own.sharding.push_back(
                    {true, int32_t(i), {placement.device_of_node[size_t(placed)]}, {}, {}});
            }
        }
    }
    drop_unnamed_host(name, placement, graph);
}

}  // namespace leat
