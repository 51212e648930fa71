#include "place/division/annotated_division.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "base/error.h"

namespace leat {
namespace {

std::string text_of(const ShardedOperand& operand) {
    return fmt::format("axis {} of {} {}", operand.axis, operand.is_output ? "output" : "input",
                       operand.operand);
}

// The axis from the front, where the node has it.
Result<int> axis_of(const GraphData& graph, const NodeData& node, const ShardedOperand& operand) {
    const std::vector<ValueId>& operands = operand.is_output ? node.outputs : node.inputs;
    const ValueId id =
        size_t(operand.operand) < operands.size() ? operands[size_t(operand.operand)] : ValueId();
    const std::optional<std::vector<DimSpec>>* dims =
        id.valid() ? &graph.value(id).type.dims : nullptr;
    const int64_t rank = dims != nullptr && *dims ? std::ssize(**dims) : 0;
    const int64_t axis = operand.axis < 0 ? operand.axis + rank : operand.axis;
    if (axis < 0 || axis >= rank) {
        return invalid_argument("an annotation shards {}", text_of(operand))
            .with_node(node.label())
            .with_file(graph.file)
            .with_needed(fmt::format("one of {} axes", rank));
    }
    const DimSpec& dim = (**dims)[size_t(axis)];
    if (operand.extent && dim.is_fixed() && dim.extent() != *operand.extent) {
        return invalid_argument("an annotation shards {} with an extent of {}", text_of(operand),
                                *operand.extent)
            .with_node(node.label())
            .with_file(graph.file)
            .with_needed(fmt::format("its extent, {}", dim.extent()));
    }
    return int(axis);
}

// The ways in which all these operands are divided.
Result<std::vector<SplitAxis>> find_ways(const GraphData& graph,
                                         const NodeData& node,
                                         std::span<const ShardedOperand> operands) {
    std::vector<SplitAxis> ways = split_axes(graph, node);
    for (const ShardedOperand& operand : operands) {
        LEAT_ASSIGN_OR_RETURN(const int axis, axis_of(graph, node, operand));
        std::erase_if(ways, [&operand, axis](const SplitAxis& way) {
            return axis !=
                   (operand.is_output ? way.result_axis : way.input_axes[size_t(operand.operand)]);
        });
    }
    return ways;
}

// Against the first of these ways.
std::string reason_against(std::span<const SplitAxis> ways, size_t shards, bool may_change_bits) {
    if (ways.empty()) {
        return "it cannot be divided there";
    }
    const SplitAxis& way = ways.front();
    if (way.changes_bits && !may_change_bits) {
        return "sums of its shards would have other bits, and "
               "CompileOptions::divide_operators does not allow that";
    }
    return way.extent % int64_t(shards) == 0
               ? std::string()
               : fmt::format("{} indices are no multiple of {} shards", way.extent, shards);
}

// Even shards, those of one device that follow each other as one.
void add_split(NodeId node,
               SplitAxis way,
               std::span<const int> devices,
               OperatorDivision& division) {
    const int64_t extent = way.extent / std::ssize(devices);
    NodeSplit split{node, std::move(way), {}};
    std::vector<int> device_of_shard;
    for (const int device : devices) {
        if (!device_of_shard.empty() && device_of_shard.back() == device) {
            split.extents.back() += extent;
        } else {
            split.extents.push_back(extent);
            device_of_shard.push_back(device);
        }
    }
    division.splits.push_back(std::move(split));
    division.device_of_shard.push_back(std::move(device_of_shard));
}

int index_of(std::string_view label, std::span<const ListedDevice> devices) {
    const auto found =
        std::find_if(devices.begin(), devices.end(),
                     [label](const ListedDevice& device) { return device.label == label; });
    return int(found - devices.begin());
}

}  // namespace

std::string stays_whole(const NodeData& node,
                        const ShardedOperand& operand,
                        const std::string& reason) {
    return fmt::format("{} is sharded along {}: it runs whole, because {}", node.label(),
                       text_of(operand), reason);
}

Result<AnnotatedDivision> annotated_division(const GraphData& graph,
                                             const NodeHistory& history,
                                             std::span<const ListedDevice> devices,
                                             bool may_change_bits) {
    AnnotatedDivision annotated;
    for (int32_t n = 0; n < graph.node_count(); ++n) {
        const NodeData& node = graph.nodes[size_t(n)];
        const PinnedShards& shards = history.pin_of(node.name).shards;
        if (shards.devices.empty()) {
            continue;
        }
        LEAT_ASSIGN_OR_RETURN(std::vector<SplitAxis> ways, find_ways(graph, node, shards.operands));
        const std::string reason = reason_against(ways, shards.devices.size(), may_change_bits);
        if (!reason.empty()) {
            annotated.notes.push_back(stays_whole(node, shards.operands[0], reason));
            continue;
        }
        std::vector<int> device_of_shard;
        for (const std::string& device : shards.devices) {
            device_of_shard.push_back(index_of(device, devices));
        }
        add_split({n}, std::move(ways.front()), device_of_shard, annotated.division);
        annotated.division.device_of_sum.push_back(
            index_of(history.pin_of(node.name).device, devices));
    }
    return annotated;
}

}  // namespace leat
