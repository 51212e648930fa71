// Field numbers are those of onnx.proto.
#include "onnx/device_configuration_writer.h"

#include <utility>

namespace leat::onnx {
namespace {

WireWriter write_axis(const ShardedAxis& axis) {
    WireWriter out;
    out.integer(1, axis.axis);
    for (const SimpleSharding& part : axis.parts) {
        WireWriter sharding;
        if (part.extent) {
            sharding.integer(1, *part.extent);
        } else if (!part.extent_name.empty()) {
            sharding.text(2, part.extent_name);
        }
        sharding.integer(3, part.shard_count);
        out.message(2, std::move(sharding));
    }
    return out;
}

WireWriter write_spec(const ShardingSpec& spec, const std::string& tensor) {
    WireWriter out;
    out.text(1, tensor);
    for (const int64_t device : spec.devices) {
        out.integer(2, device);
    }
    for (const auto& [key, devices] : spec.groups) {
        WireWriter group;
        group.integer(1, key);
        for (const int64_t device : devices) {
            group.integer(2, device);
        }
        out.message(3, std::move(group));
    }
    for (const ShardedAxis& axis : spec.axes) {
        out.message(4, write_axis(axis));
    }
    return out;
}

}  // namespace

WireWriter write_device_configuration(const DeviceConfiguration& configuration) {
    WireWriter out;
    out.text(1, configuration.name);
    out.integer(2, configuration.device_count);
    for (const std::string& device : configuration.devices) {
        out.text(3, device);
    }
    return out;
}

WireWriter write_node_configuration(const NodeData& node,
                                    const NodeDeviceConfiguration& configuration,
                                    const std::vector<std::string>& names) {
    WireWriter out;
    out.text(1, configuration.configuration);
    for (const ShardingSpec& spec : configuration.sharding) {
        const std::vector<ValueId>& operands = spec.is_output ? node.outputs : node.inputs;
        // An upgrade of the node may have dropped it.
        if (size_t(spec.operand) < operands.size() && operands[size_t(spec.operand)].valid()) {
            const ValueId id = operands[size_t(spec.operand)];
            out.message(2, write_spec(spec, names[size_t(id.index)]));
        }
    }
    if (configuration.pipeline_stage) {
        out.integer(3, *configuration.pipeline_stage);
    }
    return out;
}

}  // namespace leat::onnx
