// TensorScatter: a cache with some of its positions along an axis replaced, from an index on that
// each sample of the batch has for itself.
//   past_cache : [batch, .., positions, ..]; update : the same but for the axis, [.., s, ..] with
//   s <= positions; write_indices : i64 [batch], absent: 0. present_cache : as past_cache.
//   present[b, .., write_indices[b] + i, ..] = update[b, .., i, ..] for i < s; else the past.
//   Attributes: axis (-2 by default; not the batch's), mode: linear (the default) fails unless
//   0 <= write_indices[b] <= positions - s; circular takes positions modulo their number.
// Any element type; the axes before and behind are copied as they are. ONNX TensorScatter-24.
#pragma once

#include "graph/op_def.h"
#include "ops/axis_split.h"

namespace leat {

Status tensor_scatter_reference(const ReferenceArgs& args);

// Blocks are indices of the axes before the axis: a block of the cache is extent * inner elements.
struct CacheUpdate {
    AxisSplit cache;
    int64_t update_extent = 0;
    int64_t blocks_per_sample = 1;
    bool is_circular = false;

    static Result<CacheUpdate> make(const NodeData& node, const Shape& cache, const Shape& update);
    // Where sample b's update begins, in [0, cache.extent]; an error if it leaves the cache.
    // indices: operand write_indices, or null.
    Result<int64_t> first_position(const TensorArg* indices, int64_t sample) const;
};

}  // namespace leat
