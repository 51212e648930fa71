#include "onnx/device_configuration_reader.h"

#include <algorithm>
#include <string>

#include "base/error.h"

namespace leat::onnx {
namespace {

// The output, or the first input, of that name.
Status find_operand(const NodeProto& node, std::string_view name, ShardingSpec& spec) {
    for (const bool is_output : {true, false}) {
        const std::vector<std::string_view>& names = is_output ? node.output : node.input;
        const auto found = std::find(names.begin(), names.end(), name);
        if (!name.empty() && found != names.end()) {
            spec.is_output = is_output;
            spec.operand = int32_t(found - names.begin());
            return {};
        }
    }
    return invalid_argument("a sharding_spec is of tensor '{}'", name)
        .with_needed("an input or output of the node");
}

Result<ShardedAxis> read_axis(const ShardedDimProto& proto) {
    ShardedAxis sharded{proto.axis, {}};
    for (const SimpleShardedDimProto& part : proto.simple_sharding) {
        if (part.num_shards < 1) {
            return invalid_argument("axis {} is sharded into {} parts", proto.axis, part.num_shards)
                .with_needed("1 or more");
        }
        sharded.parts.push_back({part.dim.value, std::string(part.dim.param), part.num_shards});
    }
    return sharded;
}

Result<ShardingSpec> read_spec(const NodeProto& node, const ShardingSpecProto& proto) {
    ShardingSpec spec;
    LEAT_RETURN_IF_ERROR(find_operand(node, proto.tensor_name, spec));
    spec.devices = proto.device;
    for (const DeviceGroupProto& group : proto.index_to_device_group_map) {
        spec.groups[group.key] = group.value;
    }
    for (const ShardedDimProto& axis : proto.sharded_dim) {
        LEAT_ASSIGN_OR_RETURN(ShardedAxis sharded, read_axis(axis));
        spec.axes.push_back(std::move(sharded));
    }
    return spec;
}

}  // namespace

Result<std::vector<NodeDeviceConfiguration>> read_device_configurations(const ModelProto& model,
                                                                        const NodeProto& node) {
    std::vector<NodeDeviceConfiguration> configurations;
    for (const NodeDeviceConfigurationProto& proto : node.device_configurations) {
        const auto is_meant = [&proto](const DeviceConfigurationProto& configuration) {
            return configuration.name == proto.configuration_id;
        };
        if (std::none_of(model.configuration.begin(), model.configuration.end(), is_meant)) {
            return invalid_argument("the node is annotated for device configuration '{}'",
                                    proto.configuration_id)
                .with_found(fmt::format("{} configurations in the model, none of that name",
                                        model.configuration.size()));
        }
        NodeDeviceConfiguration& own = configurations.emplace_back();
        own.configuration = proto.configuration_id;
        own.pipeline_stage = proto.pipeline_stage;
        for (const ShardingSpecProto& spec : proto.sharding_spec) {
            LEAT_ASSIGN_OR_RETURN(ShardingSpec read, read_spec(node, spec));
            own.sharding.push_back(std::move(read));
        }
    }
    return configurations;
}

}  // namespace leat::onnx
