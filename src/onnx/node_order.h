// The order in which a graph's nodes are imported: the file's own if it is topological, else
// sorted.
#pragma once

#include <string>
#include <vector>

#include "onnx/proto.h"

namespace leat::onnx {

// "node 'name' (Op)"; a node without a name goes by its first output.
std::string label_of(const NodeProto& node);
std::string_view name_of(const NodeProto& node);

// Stable: a node moves only behind what it reads, itself or in its subgraphs. An error names the
// nodes of a cycle. Names that no node produces are ignored.
Result<std::vector<const NodeProto*>> order_nodes(const std::vector<NodeProto>& nodes);

}  // namespace leat::onnx
