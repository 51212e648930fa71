// ONNX files: reader (any opset from 1 on, upgraded to leat's canonical form) and writer.
#pragma once

#include <string>

#include "leat/export.h"
#include "leat/graph.h"
#include "leat/status.h"

namespace leat {

class OperatorLibrary;

// Maps the file and gives a Graph whose constants are views of the mapping (or of external data
// files beside it, which must lie in the model's folder). Reads no weight bytes. Errors: not_found,
// parse (with the byte offset), unsupported (every unknown operator is listed).
LEAT_API Result<Graph> load_onnx(const std::string& file);

// The same, where a file of an opset before 13 uses custom operators: upgrading it needs to know
// the types of their results. Which operators the nodes are is decided by the Runtime that compiles
// it.
LEAT_API Result<Graph> load_onnx(const std::string& file, const OperatorLibrary& operators);

// Writes the graph in canonical form, weights inline, or in `<file>.data` when the file would
// exceed 2 GiB.
// A file appears, or replaces another one, when all of it is written. Threads and processes may
// save to one name at a time: loads see a whole file, and the last one stays. Weights in a file of
// their own are replaced just before the model. A load between the two sees the old model with the
// new weights: give large models that are in use new names.
// A symbolic link stays, and what it leads to is replaced. The new file has the permissions of the
// old one. Character devices and pipes are written into. Errors: not_found (no such folder),
// invalid_argument (a folder, a block device, a pipe that nobody reads, a full disk); files are
// then as they were.
LEAT_API Status save_onnx(const Graph& graph, const std::string& file);

// One tensor or value file of the ONNX test layout (TensorProto, SequenceProto, OptionalProto).
// `expected` says which of the three the file holds: the format itself does not.
LEAT_API Result<Value> load_onnx_value(const std::string& file, Value::Kind expected);
LEAT_API Status save_onnx_value(const Value& value, const std::string& file);

}  // namespace leat
