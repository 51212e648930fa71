// Pad: grows (or, with negative pads, crops) a tensor at both ends of its axes.
//
//   x, y     : any type, any layout. y.extent[a] = before[a] + x.extent[a] + after[a] >= 0
//   pads     : i64 [2 * count]: before of all axes, then after of all axes
//   value    : one element of x's type for mode constant; absent: zero, false or ""
//   axes     : i32 or i64 [count]; absent: all
//   Attribute mode: constant, edge (repeats the last element), reflect (mirrors about the last
//   element, again and again if the pad is longer than the axis), wrap (repeats the whole axis).
// ONNX Pad-19 to 21.
#pragma once

#include <span>
#include <vector>

#include "graph/op_def.h"

namespace leat {

enum class PadMode : uint8_t { kConstant, kEdge, kReflect, kWrap };

struct PadAxis {
    int64_t before = 0;
    int64_t after = 0;
};

Result<PadMode> pad_mode(const NodeData& node);

// Pads of every axis of a tensor of `rank`. axes may be null.
Result<std::vector<PadAxis>> pad_axes(int rank,
                                      const std::vector<int64_t>& pads,
                                      const std::vector<int64_t>* axes);
// The same of a kernel's inputs. Precondition: the elements of pads and axes are known.
Result<std::vector<PadAxis>> pad_axes(std::span<const TensorArg> inputs);

// Index of x that gives the element at `index`, counted from x's first element; -1: the constant.
// Precondition: extent > 0 unless the mode is constant.
int64_t pad_source(PadMode mode, int64_t index, int64_t extent);

Status pad_reference(const ReferenceArgs& args);

}  // namespace leat
