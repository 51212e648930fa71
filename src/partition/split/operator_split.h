// Operators divided into shards: nodes of the same operator that each compute a range of one axis
// of the result, from the same range of some operands and the whole of the others.
//
//   y = MatMul(a, w)   becomes   Slice(a) --> MatMul(., w) --+--> Concat --> y
//                                Slice(a) --> MatMul(., w) --+
//
// Shards of a reduced axis (k of the product) give summands of the whole result, which are added
// one after the other, in the order of the shards, whoever ends first:
//
//                                Slice(a) --> MatMul(., w[0:i]) --+--> Add --> y
//                                Slice(a) --> MatMul(., w[i:k]) --+
//
// What remains are ordinary operators, which any device may run. Pure functions of a graph; who is
// divided, and how, is decided elsewhere.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "graph/graph_data.h"
#include "partition/split/split_axes.h"

namespace leat {

struct NodeSplit {
    NodeId node;
    SplitAxis axis;
    std::vector<int64_t> extents;  // of the shards, in their order; positive, the sum is the axis's
};

// What a node of a divided graph has to do with that.
struct SplitPiece {
    enum class Role : uint8_t {
        kNone,    // a node of the graph as it was
        kShard,   // computes a range
        kSlice,   // gives an operand's range to shards
        kConcat,  // joins the results
        kSum,     // adds the result of a shard to the sum of those before it
    };
    Role role = Role::kNone;
    // By position in the splits; Of a slice the first that needs it.
    int32_t split = -1;
    int32_t shard = -1;  // kShard and kSum
    // Of a slice and a join: the ranges lie one after the other in memory, so that no byte has to
    // move where both ends are in one.
    bool is_contiguous = false;
};

struct SplitGraph {
    GraphData graph;                 // in topological order
    std::vector<SplitPiece> pieces;  // by its nodes
};

// Names of the nodes that are made of one, unless the graph has them already: a shard with a range,
// and the sum of the results of the first shards, up to `shard`.
std::string shard_name(std::string_view node, std::string_view axis, int64_t begin, int64_t end);
std::string sum_name(std::string_view node, size_t shard);

// Where an operand was divided by another split, ranges that lie in one of its pieces are read from
// there; where nobody else reads the whole, nobody makes it. Ranges of constants are constants:
// views where they are contiguous, else copies. Error: memory for those, or a shard whose types do
// not follow. Precondition: splits in the order of nodes, which is topological, each node once.
Result<SplitGraph> split_operators(const GraphData& graph, std::span<const NodeSplit> splits);

}  // namespace leat
