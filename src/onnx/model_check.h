// What a model file says of itself, checked before its graph is read.
#pragma once

#include "onnx/proto.h"
#include "onnx/scope.h"

namespace leat::onnx {

// The opsets that the model imports. Errors: a file without a graph, outputs, IR version or opset,
// an opset below 1, and device configurations without a name or with a wrong number of devices.
Result<Opsets> check_model(const ModelProto& model);

}  // namespace leat::onnx
