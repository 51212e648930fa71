// The axes along which shards of an operator can compute its result: see operator_split.h.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "graph/op_def.h"

namespace leat {

// In SplitAxis::input_axes.
constexpr int kWholeOperand = -1;    // each shard reads all of it
constexpr int kFirstShardOnly = -2;  // a summand of the whole: the others do without
// As SplitAxis::result_axis: the axis is reduced, each shard gives a summand of the whole result.
constexpr int kSummed = -1;

// A way to divide a node.
struct SplitAxis {
    // "rows", "batch", "columns", "channels"; of reduced ones "inner" (the axis k of a product) and
    // "input channels".
    std::string_view name;
    int result_axis = 0;          // of the only result, or kSummed
    int64_t extent = 0;           // of this axis
    std::vector<int> input_axes;  // by input: the axis whose range a shard reads, or one of above
    // The sum of the shards rounds otherwise than the whole operator. Else they give the bits of
    // the reference kernel of the whole node.
    bool changes_bits = false;

    bool is_summed() const { return result_axis == kSummed; }
};

// All ways to divide a node, each axis of the result once, and then the reduced one: that of
// products and of convolutions without groups, with results of f32, f64 or integers of 32 bits and
// more (summands of fewer bits would lose too many). Integers are summed exactly. Empty: the node
// stays whole, as custom operators, those with several results and with open extents do.
// Precondition: values have types.
std::vector<SplitAxis> split_axes(const GraphData& graph, const NodeData& node);

// The type with another extent of an axis; as it is where `axis` is none.
TypeInfo with_extent(TypeInfo type, int axis, int64_t extent);

// The operator itself says what a shard of so many indices gives: attributes and operands that hold
// extents (Expand) may still speak of the whole.
bool infers_shard(const GraphData& graph,
                  const NodeData& node,
                  const SplitAxis& axis,
                  int64_t extent);

}  // namespace leat
