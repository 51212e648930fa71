// The axes along which shards of an operator can compute its result: see operator_split.h.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "graph/op_def.h"

namespace leat {

constexpr int kWholeOperand = -1;

// A way to divide a node.
struct SplitAxis {
    std::string_view name;        // "rows", "batch", "columns", "channels"
    int result_axis = 0;          // of the only result
    int64_t extent = 0;           // of this axis
    std::vector<int> input_axes;  // by input: the axis whose range a shard reads, or kWholeOperand
};

// All ways in which shards of a node give the bits of the reference kernel of the whole node, each
// axis of the result once. Empty: it stays whole, as custom operators, nodes with several results
// and those with open extents do. Precondition: values have types.
std::vector<SplitAxis> split_axes(const GraphData& graph, const NodeData& node);

// The type with another extent of an axis; as it is for kWholeOperand.
TypeInfo with_extent(TypeInfo type, int axis, int64_t extent);

// The operator itself says what a shard of so many indices gives: attributes and operands that hold
// extents (Expand) may still speak of the whole.
bool infers_shard(const GraphData& graph,
                  const NodeData& node,
                  const SplitAxis& axis,
                  int64_t extent);

}  // namespace leat
