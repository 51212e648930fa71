// ONNX files: reader (any opset from 1 on, upgraded to leat's canonical form) and writer.
#pragma once

#include <string>
#include <vector>

#include "leat/export.h"
#include "leat/graph.h"
#include "leat/status.h"

namespace leat {

class OperatorLibrary;

struct LoadOnnxOptions {
    // False: the file and its external data are mapped, and stay so while anything of the graph
    // lives. No weight bytes are read before somebody needs them. A mapped file must be replaced by
    // renaming, as save_onnx does. One that is overwritten in place gives other numbers; where one
    // became shorter, reading it ends the process with SIGBUS. compile(), make_request(), save()
    // and save_onnx() look at the sizes first and return errors (parse); a file that shrinks later
    // is not noticed.
    // True: all of the files is read into memory now, and what happens to them afterwards does not
    // matter. A file that changes while it is read is an error (parse). The process then needs as
    // much memory as they have bytes, beside what it packs.
    bool copies = false;
    // Folders where links of a model's external data may lead, beside its own. Each must exist.
    std::vector<std::string> external_roots = {};
};

// Gives a Graph whose constants are views of the file, or of external data files beside it.
// External data: the model names each file by a path without "..", relative to the folder of
// `file`, or to that of the file to which `file` leads where it is a link. Links are followed where
// they end in one of these two folders, or in one of LoadOnnxOptions::external_roots, or below:
// models in the cache of Hugging Face load as they are.
// Errors: not_found, invalid_argument (a location that may lead elsewhere), parse (with the byte
// offset), unsupported (every unknown operator is listed).
LEAT_API Result<Graph> load_onnx(const std::string& file, const LoadOnnxOptions& options = {});

// The same, where a file of an opset before 13 uses custom operators: upgrading it needs to know
// the types of their results. Which operators the nodes are is decided by the Runtime that compiles
// it.
LEAT_API Result<Graph> load_onnx(const std::string& file,
                                 const OperatorLibrary& operators,
                                 const LoadOnnxOptions& options = {});

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
// Options and files: as above.
LEAT_API Result<Value> load_onnx_value(const std::string& file,
                                       Value::Kind expected,
                                       const LoadOnnxOptions& options = {});
LEAT_API Status save_onnx_value(const Value& value, const std::string& file);

}  // namespace leat
