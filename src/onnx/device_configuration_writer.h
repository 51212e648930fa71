// Annotations for several devices to messages of the file.
#pragma once

#include <string>
#include <vector>

#include "graph/graph_data.h"
#include "onnx/wire_writer.h"

namespace leat::onnx {

// DeviceConfigurationProto
WireWriter write_device_configuration(const DeviceConfiguration& configuration);
// NodeDeviceConfigurationProto. names: of values, by index.
WireWriter write_node_configuration(const NodeData& node,
                                    const NodeDeviceConfiguration& configuration,
                                    const std::vector<std::string>& names);

}  // namespace leat::onnx
