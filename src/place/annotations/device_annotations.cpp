#include "place/annotations/device_annotations.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "base/error.h"
#include "place/division/annotated_division.h"

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
            if (!is_new && first->second != pin) {
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
                if (own.device.empty()) {
                    own = pin;
                }
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
        LEAT_ASSIGN_OR_RETURN(pin.shards, shards_of(node, *own));
        return pin;
    }

    // The devices that hold the node's results, or, where nothing is said of them, its operands.
    Result<std::vector<int64_t>> numbers_of(const NodeData& node,
                                            const NodeDeviceConfiguration& own) const {
        const bool has_outputs = std::any_of(own.sharding.begin(), own.sharding.end(),
                                             [](const auto& spec) { return spec.is_output; });
        std::vector<int64_t> numbers;
        for (const ShardingSpec& spec : own.sharding) {
            for (const int64_t number : members_of(spec)) {
                LEAT_RETURN_IF_ERROR(check_number(node, number));
                if (spec.is_output == has_outputs) {
                    numbers.push_back(number);
                }
            }
        }
        return numbers;
    }

    // Groups as the devices in them.
    static std::vector<int64_t> members_of(const ShardingSpec& spec) {
        std::vector<int64_t> numbers;
        for (const int64_t number : spec.devices) {
            const auto group = spec.groups.find(number);
            if (group == spec.groups.end()) {
                numbers.push_back(number);
            } else {
                numbers.insert(numbers.end(), group->second.begin(), group->second.end());
            }
        }
        return numbers;
    }

    Status check_number(const NodeData& node, int64_t number) const {
        if (number >= 0 && number < int64_t(devices_.size())) {
            return {};
        }
        return invalid_argument("an annotation is for device {} of configuration '{}'", number,
                                result_.configuration)
            .with_node(node.label())
            .with_file(graph_.file)
            .with_needed(fmt::format("one of {} devices, from 0", devices_.size()));
    }

    // Those of the results, else those of the operands. None where the annotations say more than
    // one range of one axis for each device, with a note; what the node can do is not known here.
    Result<PinnedShards> shards_of(const NodeData& node, const NodeDeviceConfiguration& own) {
        std::vector<const ShardingSpec*> sharded;
        for (const bool is_output : {true, false}) {
            for (const ShardingSpec& spec : own.sharding) {
                if (spec.is_output == is_output && !divided_axes(spec).empty()) {
                    sharded.push_back(&spec);
                }
            }
            if (!sharded.empty()) {
                break;
            }
        }
        PinnedShards shards;
        std::string reason;
        for (const ShardingSpec* spec : sharded) {
            LEAT_ASSIGN_OR_RETURN(const std::vector<std::string> devices,
                                  devices_of_shards(node, *spec, reason));
            const bool is_first = shards.operands.empty();
            if (!is_first && devices != shards.devices && reason.empty()) {
                reason = "its operands are on different devices";
            }
            if (is_first) {
                shards.devices = devices;
            }
            shards.operands.push_back(operand_of(*spec));
        }
        if (!reason.empty()) {
            result_.notes.push_back(stays_whole(node, shards.operands[0], reason));
            return PinnedShards();
        }
        const bool is_on_one = std::adjacent_find(shards.devices.begin(), shards.devices.end(),
                                                  std::not_equal_to<>()) == shards.devices.end();
        return is_on_one ? PinnedShards() : std::move(shards);
    }

    static std::vector<const ShardedAxis*> divided_axes(const ShardingSpec& spec) {
        std::vector<const ShardedAxis*> axes;
        for (const ShardedAxis& axis : spec.axes) {
            if (std::any_of(axis.parts.begin(), axis.parts.end(),
                            [](const SimpleSharding& part) { return part.shard_count > 1; })) {
                axes.push_back(&axis);
            }
        }
        return axes;
    }

    static ShardedOperand operand_of(const ShardingSpec& spec) {
        const ShardedAxis& axis = *divided_axes(spec).front();
        return {spec.is_output, spec.operand, axis.axis, axis.parts.front().extent};
    }

    // By shard. Error: they are fewer or more than the shards.
    Result<std::vector<std::string>> devices_of_shards(const NodeData& node,
                                                       const ShardingSpec& spec,
                                                       std::string& reason) const {
        int64_t count = 1;
        for (const ShardedAxis* axis : divided_axes(spec)) {
            for (const SimpleSharding& part : axis->parts) {
                count *= part.shard_count;
            }
        }
        if (count != std::ssize(spec.devices)) {
            return invalid_argument("an annotation shards {} {} into {} for {} devices or groups",
                                    spec.is_output ? "output" : "input", spec.operand, count,
                                    spec.devices.size())
                .with_node(node.label())
                .with_file(graph_.file)
                .with_needed("one for each shard");
        }
        if (divided_axes(spec).size() > 1 || divided_axes(spec).front()->parts.size() > 1) {
            reason = "only one axis of an operator is divided";
        }
        std::vector<std::string> devices;
        for (const int64_t number : spec.devices) {
            const auto group = spec.groups.find(number);
            if (group != spec.groups.end() && group->second.size() != 1) {
                reason = "shards are not replicated";
            } else {
                devices.push_back(
                    devices_[size_t(group == spec.groups.end() ? number : group->second.front())]);
            }
        }
        return devices;
    }

    const GraphData& graph_;
    const CompileOptions& options_;
    AnnotatedPins result_;
    std::vector<std::string> devices_;  // labels, by number
    std::set<int> stages_;
    bool keeps_stages_apart_ = true;
};

}  // namespace

Result<AnnotatedPins> annotated_pins(const GraphData& graph,
                                     const CompileOptions& options,
                                     std::span<const ListedDevice> devices) {
    return AnnotationReader(graph, options).run(devices);
}

std::vector<int> pipeline_stages(const GraphData& graph, std::span<const int> own) {
    std::vector<int> stages(graph.nodes.size(), 0);
    for (size_t n = 0; n < graph.nodes.size(); ++n) {
        stages[n] = std::max(stages[n], own[n]);
        for (const ValueId id : graph.nodes[n].inputs) {
            const NodeId producer = id.valid() ? graph.value(id).producer : NodeId();
            if (producer.valid()) {
                stages[n] = std::max(stages[n], stages[size_t(producer.index)]);
            }
        }
    }
    const bool has_stages =
        std::any_of(own.begin(), own.end(), [](int stage) { return stage != kNoStage; });
    return has_stages ? stages : std::vector<int>();
}

std::vector<int> pipeline_stages(const GraphData& graph, const NodeHistory& history) {
    std::vector<int> own;
    own.reserve(graph.nodes.size());
    for (const NodeData& node : graph.nodes) {
        own.push_back(history.pin_of(node.name).stage);
    }
    return pipeline_stages(graph, own);
}

}  // namespace leat
