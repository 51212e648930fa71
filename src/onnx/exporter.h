// GraphData and values to ONNX messages: opset 22, IR version 10 (11 with annotations for
// several devices), canonical forms as they are.
#pragma once

#include "graph/graph_data.h"
#include "onnx/wire_writer.h"

namespace leat::onnx {

// Where constants go: into the model, or one behind the other into a file beside it.
struct ConstantSink {
    bool external = false;
    std::string location;                           // of the file, relative to the model
    int64_t size_bytes = 0;                         // of the file so far
    std::vector<std::pair<int64_t, Bytes>> blocks;  // offset and bytes, ascending
};

// The graph must outlive the writer, which views its constants. Errors: what only a compiled graph
// has (fused epilogues, internal operators, other layouts), outputs without a type.
Result<WireWriter> export_model(const GraphData& graph, ConstantSink& sink);
Result<WireWriter> export_value(const Value& value);
WireWriter export_tensor(const Tensor& tensor, const std::string& name, ConstantSink* sink);

}  // namespace leat::onnx
