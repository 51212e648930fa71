// Gather, GatherElements, GatherND: elements or slices of a tensor at indices that are data.
//
//   Gather          y = x[.., indices, ..] : the axis of x is replaced by all axes of indices
//   GatherElements  y[i] = x[i with the axis' index replaced by indices[i]]; indices and y have one
//   shape GatherND        the last axis of indices holds a position of x's axes batch_dims,
//   batch_dims + 1, ... x, y : any type, row-major; indices : i32 or i64, in [-extent, extent),
//   else the run fails.
// ONNX Gather-13, GatherElements-13, GatherND-13.
#pragma once

#include <string>

#include "graph/op_def.h"

namespace leat {

// Element i of an integer tensor.
inline int64_t index_at(const TensorArg& indices, int64_t i) {
    return indices.dtype == DType::kInt32 ? int64_t{indices.as<int32_t>()[i]}
                                          : indices.as<int64_t>()[i];
}

// Maps a negative index; -1 if it is out of range.
inline int64_t normalize_index(int64_t index, int64_t extent) {
    const int64_t normal = index < 0 ? index + extent : index;
    return normal >= 0 && normal < extent ? normal : -1;
}

// The error for an index outside of an axis. `node`: its label.
Status index_error(const std::string& node, int64_t index, int64_t extent);

// Where the indices are known before the run (input 1, of an axis of input 0): an error if one is
// outside. Positions of `depth` indices each begin with `first_axis`.
Status check_known_indices(const InferContext& context, int64_t first_axis, int64_t depth);

Status gather_reference(const ReferenceArgs& args);
Status gather_elements_reference(const ReferenceArgs& args);
Status gather_nd_reference(const ReferenceArgs& args);

// GatherND as a loop: `batches` groups of `picks` positions of `depth` indices; each picks `slice`
// elements.
struct GatherNdLoop {
    int64_t batches = 1;
    int64_t batch_elements = 1;  // of x
    int64_t picks = 1;
    int depth = 0;
    int first_axis = 0;  // of x, that the first index of a position belongs to
    int64_t slice = 1;
};
GatherNdLoop gather_nd_loop(const NodeData& node, const TensorArg& x, const TensorArg& indices);
// Offset of the slice of one position inside its batch; -1 if an index is out of range, see *bad.
int64_t gather_nd_offset(const GatherNdLoop& loop,
                         const TensorArg& x,
                         const TensorArg& indices,
                         int64_t position,
                         int* bad);

}  // namespace leat
