// The annotations of a node for several devices, from the file's message.
#pragma once

#include <vector>

#include "graph/device_configuration.h"
#include "leat/status.h"
#include "onnx/proto.h"

namespace leat::onnx {

// Errors: a configuration that the model does not have, a tensor that the node does not have, an
// axis without shards.
Result<std::vector<NodeDeviceConfiguration>> read_device_configurations(const ModelProto& model,
                                                                        const NodeProto& node);

}  // namespace leat::onnx
