// Multi-device annotations of a model (ONNX IR version 11: DeviceConfigurationProto,
// NodeDeviceConfigurationProto): which devices its author means, and what each node does there.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace leat {

struct DeviceConfiguration {
    std::string name;
    int32_t device_count = 0;
    std::vector<std::string> devices;  // their names; empty: they have none
};

// `extent` of an axis, or of one of the axes that a reshape has made one, in so many parts.
struct SimpleSharding {
    std::optional<int64_t> extent;
    std::string extent_name;  // symbolic; empty: see `extent`
    int64_t shard_count = 0;
};

struct ShardedAxis {
    int64_t axis = 0;  // negative: from the back
    std::vector<SimpleSharding> parts;
};

// Where one operand of a node is.
struct ShardingSpec {
    bool is_output = false;
    int32_t operand = 0;  // index among the node's inputs or outputs
    // Numbers of devices, or of groups of them.
    std::vector<int64_t> devices;
    std::map<int64_t, std::vector<int64_t>> groups;
    std::vector<ShardedAxis> axes;
};

struct NodeDeviceConfiguration {
    std::string configuration;  // the name of a DeviceConfiguration
    std::optional<int32_t> pipeline_stage;
    std::vector<ShardingSpec> sharding;
};

// Without the sharding of operands, which other nodes do not have.
inline std::vector<NodeDeviceConfiguration> stages_of(
    std::vector<NodeDeviceConfiguration> configurations) {
    for (NodeDeviceConfiguration& configuration : configurations) {
        configuration.sharding.clear();
    }
    return configurations;
}

}  // namespace leat
