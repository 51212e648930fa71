// Whether the run of a graph may be split along the batch: shards that each compute a range of the
// rows (indices of axis 0) of all outputs, from the same rows of the divided inputs and the whole
// of everything else, with the very bits of one run.
#pragma once

#include <span>
#include <vector>

#include "graph/op_def.h"

namespace leat {

struct BatchSplit {
    int64_t batch = 0;  // rows of every output and of every divided input
    // By graph input: a shard gets its rows of these, and all of the others.
    std::vector<bool> is_divided;
};

// Rows of the graph's outputs, if all have as many and there is more than one; else the reason.
// `facts`: of the run of the whole batch, by value, as infer_graph gives them.
Result<int64_t> find_batch_extent(const GraphData& graph, std::span<const ValueFact> facts);

// Which inputs to divide so that shards of these numbers of rows, in this order, give all outputs.
// Divided are the inputs with as many rows as the batch whose elements are not known: those where
// the graph leaves this extent open, or if there are none, those where it fixes it (a plan of a
// shard then needs InferenceOptions::checks_extents = false). Infers the graph once for each
// different number: what a shard computes from its own extents is compared with the whole run, not
// assumed. An error (unsupported) tells in a sentence why not, and names the first node that mixes
// rows. Preconditions: `facts` as above, all shapes fixed; nodes in topological order; shard_rows
// are positive and sum to find_batch_extent().
Result<BatchSplit> find_batch_split(const GraphData& graph,
                                    std::span<const ValueFact> facts,
                                    std::span<const int64_t> shard_rows);

}  // namespace leat
