// If, Loop and Scan: operators with bodies. ONNX If-1, Loop-1, Scan-9.
//   If:   condition (bool, one element) -> the outputs of then_branch or else_branch, which read
//         captured values alone.
//   Loop: trip count M (i64, one element, may be absent), condition (bool, may be absent), initial
//         values -> the last carried values, and what the body gave in each iteration, stacked
//         along a new first axis. An absent M or condition does not end the loop; the body's
//         condition is ignored where the node has none.
//   Scan: initial states, sequences -> the last states, and what the body gave, stacked along
//         scan_output_axes. The body reads slices of the sequences, along scan_input_axes.
// Elements of any type. A carried value may change its shape from iteration to iteration; parts of
// a stack may not. Behind the node's own inputs stand those that its bodies capture.
#pragma once

#include <cstdint>
#include <vector>

#include "graph/op_def.h"
#include "ops/axis_split.h"

namespace leat {

// How the inputs and outputs of a Scan and its body correspond.
struct ScanForm {
    size_t states = 0;
    size_t sequences = 0;
    size_t stacks = 0;
    std::vector<int64_t> input_axes;  // by sequence, not normalized
    std::vector<int64_t> output_axes;
    std::vector<bool> input_is_reversed;
    std::vector<bool> output_is_reversed;
};
// An error names an attribute whose length or elements do not fit the node.
Result<ScanForm> scan_form(const NodeData& node);

// How many values a Loop carries: results from there on are stacks.
size_t carried_by_loop(const NodeData& node);
// Of any node.
bool is_stack_of_loop(const NodeData& node, int32_t output);
// True if a run may make the output longer, part by part: a stack of whole bytes, or of strings.
bool may_grow(const NodeData& node, int32_t output, const TypeInfo& type);

// The inputs of a body without what it captures.
size_t own_input_count(const NodeData& node, const GraphData& body);

// Of the number of the iteration and of the condition: scalars, unless the body declares a vector.
Shape shape_of_one_element(const GraphData& body, size_t input);

// One element of an operand of Loop or If, of rank 0 or 1.
int64_t trip_count_of(const TensorArg& operand);
bool condition_of(const TensorArg& operand);

// Copies one index of an axis between a whole tensor and a slice of it. inner_bytes: of the
// elements behind the axis.
void copy_slice(const AxisSplit& split,
                int64_t inner_bytes,
                int64_t index,
                std::byte* whole,
                std::byte* slice,
                bool is_into_whole);

Status if_reference(const ReferenceArgs& args);
Status loop_reference(const ReferenceArgs& args);
Status scan_reference(const ReferenceArgs& args);

}  // namespace leat
