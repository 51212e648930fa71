// The text form of a graph: one line a node, made to be read and diffed. parse_graph() reads it.
//
//   graph "net" (x: f32[batch,3,8,8]) -> (prob: f32[batch,10]) {
//     const w: f32[2,2] = {1, 2, 3, 4}
//     const v: f32[64,64] = <hash 1a2b3c4d5e6f7a8b, 4096 elements>
//     y = Conv(x, w, _) {group=1, pads=[1,1,1,1]} @layout=channels_last +Relu() +Add(z)  # conv1
//     a, b = leat.Op("odd name") {scale=0.5, mode="up", value=i64[1]{7}}
//     prob = Identity(y)
//   }
//
// A body of If, Loop or Scan is an attribute: a whole graph. It ends its inputs with one for each
// value that the node's bodies capture; these stand in brackets behind the node's own operands:
//
//     a = If(c)[x, w] {else_branch=graph "e" (x: f32[2], w: f32[2]) -> (y: f32[2]) {...}, ...}
//
// An absent input or output is "_". "+Op(...)" is an epilogue step; "+Sub(z, .)" has the node's
// result on the right. The text after "#" is the node's name where it is not that of its first
// result; "p = y: f32[2]" in the list of outputs names a value's output otherwise than the value.
// Floats always carry a point, an exponent, "inf" or "nan" among attributes, so that they are not
// taken for integers.
#pragma once

#include <cstdint>
#include <string>

#include "graph/graph_data.h"

namespace leat {

// Constants with more elements than this are printed as a hash and cannot be parsed back.
inline constexpr int64_t kMaxPrintedElements = 16;

// `max_printed_elements` < 0 prints every constant in full, so that any graph parses back.
std::string graph_to_text(const GraphData& graph,
                          int64_t max_printed_elements = kMaxPrintedElements);

// " {axis=1, mode=\"up\"}" as in the text form, by name; empty where there are none.
std::string attributes_to_text(const Attributes& attributes);
// "{1, 2, 3}", all of them.
std::string elements_to_text(const Tensor& tensor);

}  // namespace leat
