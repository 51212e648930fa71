// AttributeProto and TypeProto to what the graph holds.
#pragma once

#include <optional>

#include "graph/graph_data.h"
#include "onnx/proto.h"
#include "onnx/tensor_reader.h"

namespace leat::onnx {

// The value of an attribute that is no graph; a type becomes its text. No value: a name alone,
// which sets nothing. Errors: unsupported for lists of tensors, graphs or types.
Result<std::optional<AttributeValue>> read_attribute(const AttributeProto& proto,
                                                     const Source& source);

// The tensor that a Constant node's attribute stands for: a number is a scalar, a list has one
// axis.
Result<Tensor> read_constant(const AttributeProto& proto, const Source& source);

// What a TypeProto says; unknown when it says nothing.
Result<TypeInfo> read_type(const TypeProto& proto);

}  // namespace leat::onnx
