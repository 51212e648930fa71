// Messages of a model file to a GraphData in canonical form: names resolved, Constant nodes and
// initializers as constants, model-local functions inlined, old opsets upgraded, subgraphs of
// control flow kept.
#pragma once

#include <memory>
#include <string>

#include "graph/graph_data.h"
#include "graph/operator_source.h"
#include "onnx/proto.h"
#include "onnx/tensor_reader.h"

namespace leat::onnx {

// Unknown operators are no error here: the nodes have no definition, and verify() lists them all.
// `operators` has those of programs; null: none.
// Errors are those of structure (duplicate and missing names, cycles, recursive functions, bad
// tensors) and name the node. `file` is for messages.
Result<std::unique_ptr<GraphData>> import_model(const ModelProto& model,
                                                const Source& source,
                                                const std::string& file,
                                                const OperatorSource* operators = nullptr);

}  // namespace leat::onnx
