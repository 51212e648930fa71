#include "runtime/device_annotations.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "base/error.h"

namespace leat {
namespace {

// The devices that a configuration means, by number; empty with a reason: the list does not fit.
struct ChosenDevices {
    std::vector<std::string> labels;
    std::string misfit;
};

// By their names; or, where those are no names of the list, by position.
ChosenDevices devices_of(const DeviceConfiguration& configuration,
                         std::span<const ListedDevice> devices,
                         bool may_go_by_position) {
    const auto is_listed = [devices](const std::string& name) {
        return std::any_of(devices.begin(), devices.end(),
                           [&name](const ListedDevice& device) { return device.label == name; });
    };
    const std::vector<std::string>& names = configuration.devices;
    if (!names.empty() && std::all_of(names.begin(), names.end(), is_listed)) {
        return {names, {}};
    }
    ChosenDevices chosen;
    if (configuration.device_count > int32_t(devices.size())) {
        chosen.misfit = fmt::format("it is for {} devices, and the list has {}",
                                    configuration.device_count, devices.size());
    } else if (!may_go_by_position &&
               (!names.empty() || configuration.device_count < int32_t(devices.size()))) {
        chosen.misfit = names.empty()
                            ? fmt::format("it is for {} devices, and the list has {}",
                                          configuration.device_count, devices.size())
                            : fmt::format("its devices are '{}'", fmt::join(names, "', '"));
    } else {
        for (int32_t device = 0; device < configuration.device_count; ++device) {
            chosen.labels.push_back(devices[size_t(device)].label);
        }
    }
    return chosen;
}

const NodeDeviceConfiguration* find_configuration(const NodeData& node, const std::string& name) {
    const auto found =
        std::find_if(node.device_configurations.begin(), node.device_configurations.end(),
                     [&name](const auto& own) { return own.configuration == name; });
    return found == node.device_configurations.end() ? nullptr : &*found;
}

class AnnotationReader {
  public:
    AnnotationReader(const GraphData& graph, const CompileOptions& options)
        : graph_(graph), options_(options) {
        for (const auto& [node, device] : options.pins) {
            result_.pins[node].device = device;
        }
    }

    Result<AnnotatedPins> run(std::span<const ListedDevice> devices) {
        LEAT_RETURN_IF_ERROR(choose(devices));
        if (!result_.configuration.empty()) {
            find_stages();
            LEAT_RETURN_IF_ERROR(read_nodes());
        }
        return std::move(result_);
    }

  private:
    Status choose(std::span<const ListedDevice> devices) {
        const std::optional<std::string>& wanted = options_.device_configuration;
        if (wanted && wanted->empty()) {
            return {};
        }
        for (const DeviceConfiguration& configuration : graph_.device_configurations) {
            if (wanted && configuration.name != *wanted) {
                continue;
            }
            ChosenDevices chosen = devices_of(configuration, devices, wanted.has_value());
            if (chosen.misfit.empty()) {
                result_.configuration = configuration.name;
                devices_ = std::move(chosen.labels);
                return {};
            }
            if (wanted) {
                return invalid_argument("device configuration '{}' does not fit the list '{}': {}",
                                        *wanted, options_.devices, chosen.misfit)
                    .with_file(graph_.file);
            }
            result_.notes.push_back(
                fmt::format("device configuration '{}' of the model is not obeyed: {}",
                            configuration.name, chosen.misfit));
        }
        return wanted ? missing_error(*wanted) : Status();
    }

    Status missing_error(const std::string& wanted) const {
        std::vector<std::string_view> names;
        for (const DeviceConfiguration& configuration : graph_.device_configurations) {
            names.emplace_back(configuration.name);
        }
        return not_found("the model has no device configuration '{}'", wanted)
            .with_file(graph_.file)
            .with_needed(names.empty() ? "a model with annotations; this one has none"
                                       : fmt::format("one of '{}'", fmt::join(names, "', '")));
    }

    // Which stages there are, and whether data only goes from lower ones to higher ones.
    void find_stages() {
        std::vector<int> reached(graph_.nodes.size(), kNoStage);  // by node, with those before it
        for (size_t n = 0; n < graph_.nodes.size(); ++n) {
            for (const ValueId id : graph_.nodes[n].inputs) {
                const NodeId producer = id.valid() ? graph_.value(id).producer : NodeId();
                if (producer.valid()) {
                    reached[n] = std::max(reached[n], reached[size_t(producer.index)]);
                }
            }
            const int own = stage_of(graph_.nodes[n]);
            if (own == kNoStage) {
                continue;
            }
            if (own < reached[n] && keeps_stages_apart_) {
                keeps_stages_apart_ = false;
                result_.notes.push_back(fmt::format(
                    "{} is of pipeline stage {} and needs data of stage {}: stages only choose "
                    "devices",
                    graph_.nodes[n].label(), own, reached[n]));
            }
            reached[n] = std::max(reached[n], own);
            stages_.insert(own);
        }
    }

    int stage_of(const NodeData& node) const {
        const NodeDeviceConfiguration* own = find_configuration(node, result_.configuration);
        return own == nullptr ? kNoStage : own->pipeline_stage.value_or(kNoStage);
    }

    Status read_nodes() {
        std::map<std::string_view, Pin> seen;
        std::set<std::string_view> differing;
        for (const NodeData& node : graph_.nodes) {
            LEAT_ASSIGN_OR_RETURN(const Pin pin, pin_of(node));
            const auto [first, is_new] = seen.try_emplace(node.name, pin);
            if (!is_new &&
                (first->second.device != pin.device || first->second.stage != pin.stage)) {
                differing.insert(node.name);
            }
        }
        for (const std::string_view name : differing) {
            result_.notes.push_back(fmt::format(
                "several nodes are called '{}', with different annotations: none is obeyed", name));
            seen.erase(name);
        }
        for (const auto& [name, pin] : seen) {
            if (pin.is_pinned()) {
                Pin& own = result_.pins[std::string(name)];
                own.device = own.device.empty() ? pin.device : own.device;
                own.stage = pin.stage;
            }
        }
        return {};
    }

    Result<Pin> pin_of(const NodeData& node) {
        Pin pin;
        const NodeDeviceConfiguration* own = find_configuration(node, result_.configuration);
        if (own == nullptr) {
            return pin;
        }
        const int stage = stage_of(node);
        pin.stage = keeps_stages_apart_ ? stage : kNoStage;
        LEAT_ASSIGN_OR_RETURN(const std::vector<int64_t> numbers, numbers_of(node, *own));
        if (!numbers.empty()) {
            pin.device = devices_[size_t(numbers[0])];
        } else if (stage != kNoStage) {
            const auto rank = size_t(std::distance(stages_.begin(), stages_.find(stage)));
            pin.device =
                devices_[rank * devices_.size() / std::max(stages_.size(), devices_.size())];
        }
        return pin;
    }

    // The devices that hold the node's results, or, where nothing is said of them, its operands.
    Result<std::vector<int64_t>> numbers_of(const NodeData& node,
                                            const NodeDeviceConfiguration& own) {
        const bool has_outputs = std::any_of(own.sharding.begin(), own.sharding.end(),
                                             [](const auto& spec) { return spec.is_output; });
        std::vector<int64_t> numbers;
        for (const ShardingSpec& spec : own.sharding) {
            if (spec.is_output != has_outputs) {
                continue;
            }
            for (const int64_t number : spec.devices) {
                const auto group = spec.groups.find(number);
                if (group == spec.groups.end()) {
                    numbers.push_back(number);
                } else {
                    numbers.insert(numbers.end(), group->second.begin(), group->second.end());
                }
            }
            note_sharding(node, spec);
        }
        for (const int64_t number : numbers) {
            if (number < 0 || number >= int64_t(devices_.size())) {
                return invalid_argument("an annotation is for device {} of configuration '{}'",
                                        number, result_.configuration)
                    .with_node(node.label())
                    .with_file(graph_.file)
                    .with_needed(fmt::format("one of {} devices, from 0", devices_.size()));
            }
        }
        return numbers;
    }

    void note_sharding(const NodeData& node, const ShardingSpec& spec) {
        for (const ShardedAxis& axis : spec.axes) {
            const bool is_divided =
                std::any_of(axis.parts.begin(), axis.parts.end(),
                            [](const SimpleSharding& part) { return part.shard_count > 1; });
            if (is_divided) {
                result_.notes.push_back(fmt::format(
                    "{} is sharded along axis {} of {} {}: it runs whole on the first of its "
                    "devices",
                    node.label(), axis.axis, spec.is_output ? "output" : "input", spec.operand));
                return;
            }
        }
    }

    const GraphData& graph_;
    const CompileOptions& options_;
    AnnotatedPins result_;
    std::vector<std::string> devices_;  // labels, by number
    std::set<int> stages_;
    bool keeps_stages_apart_ = true;
};

// What runs as one: a part, or a node on a host.
class PlacedUnits {
  public:
    PlacedUnits(const PlacementRecord& record, const GraphData& graph)
        : record_(record), graph_(graph), unit_of_node_(graph.nodes.size(), -1) {
        std::map<int, int> unit_of_part;
        for (size_t n = 0; n < graph.nodes.size(); ++n) {
            if (record.device_of_node[n] < 0) {
                continue;
            }
            const int part = record.part_of_node[n];
            const auto next = int(units_.size());
            const int unit = part < 0 ? next : unit_of_part.try_emplace(part, next).first->second;
            if (unit == next) {
                units_.push_back({record.device_of_node[n], part >= 0, {}});
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

    const PlacementRecord& record_;
    const GraphData& graph_;
    std::vector<int> unit_of_node_;  // -1: it runs nowhere
    std::vector<Unit> units_;
};

// The node of the compiled graph that does the work of the one of that name; -1: none does.
class SurvivingNodes {
  public:
    SurvivingNodes(const PlacementRecord& record, const GraphData& compiled) {
        for (size_t n = 0; n < compiled.nodes.size(); ++n) {
            nodes_.try_emplace(compiled.nodes[n].name, int(n));
        }
        for (const PlacedNode& gone : record.gone) {
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

}  // namespace

Result<AnnotatedPins> annotated_pins(const GraphData& graph,
                                     const CompileOptions& options,
                                     std::span<const ListedDevice> devices) {
    return AnnotationReader(graph, options).run(devices);
}

std::vector<int> pipeline_stages(const GraphData& graph, const NodeHistory& history) {
    std::vector<int> stages(graph.nodes.size(), 0);
    bool has_stages = false;
    for (size_t n = 0; n < graph.nodes.size(); ++n) {
        const int own = history.pin_of(graph.nodes[n].name).stage;
        has_stages = has_stages || own != kNoStage;
        stages[n] = std::max(stages[n], own);
        for (const ValueId id : graph.nodes[n].inputs) {
            const NodeId producer = id.valid() ? graph.value(id).producer : NodeId();
            if (producer.valid()) {
                stages[n] = std::max(stages[n], stages[size_t(producer.index)]);
            }
        }
    }
    return has_stages ? stages : std::vector<int>();
}

void annotate_placement(const std::string& name,
                        const PlacementRecord& record,
                        const GraphData& compiled,
                        GraphData& graph) {
    DeviceConfiguration configuration{name, int32_t(record.assumed.devices.size()), {}};
    for (const AssumedDevice& device : record.assumed.devices) {
        configuration.devices.push_back(device.label);
    }
    const auto is_old = [&name](const DeviceConfiguration& own) { return own.name == name; };
    std::erase_if(graph.device_configurations, is_old);
    graph.device_configurations.push_back(std::move(configuration));

    const std::vector<int> stages = PlacedUnits(record, compiled).stages();
    const SurvivingNodes surviving(record, compiled);
    for (NodeData& node : graph.nodes) {
        std::erase_if(node.device_configurations,
                      [&name](const auto& own) { return own.configuration == name; });
        const int placed = surviving.find(node.name);
        if (node.dead || placed < 0 || record.device_of_node[size_t(placed)] < 0) {
            continue;
        }
        NodeDeviceConfiguration& own = node.device_configurations.emplace_back();
        own.configuration = name;
        own.pipeline_stage = stages[size_t(placed)];
        for (size_t i = 0; i < node.outputs.size(); ++i) {
            if (node.outputs[i].valid()) {
                own.sharding.push_back(
                    {true, int32_t(i), {record.device_of_node[size_t(placed)]}, {}, {}});
            }
        }
    }
}

}  // namespace leat
