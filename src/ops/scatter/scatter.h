// ScatterND, ScatterElements: a copy of the data with elements or slices replaced, or combined, at
// indices.
//
//   ScatterND        the last axis of indices is a position of the first axes of data; updates hold
//   a slice each ScatterElements  y[i with the axis' index replaced by indices[i]] = updates[i];
//   both have one shape data, updates, y : one type, row-major; indices : i32 or i64, in [-extent,
//   extent), else the run fails. Attribute reduction: none (of equal positions the last wins), add,
//   mul, max, min; numeric types only, rounded after every update. y may be data.
// ONNX ScatterND-18, ScatterElements-18.
#pragma once

#include "graph/op_def.h"

namespace leat {

// As shaders/scatter.comp numbers them.
enum class ScatterReduction : uint32_t { kNone, kAdd, kMul, kMax, kMin };
ScatterReduction scatter_reduction(const NodeData& node);

Status scatter_nd_reference(const ReferenceArgs& args);
Status scatter_elements_reference(const ReferenceArgs& args);

}  // namespace leat
