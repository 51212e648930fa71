// Values that are the bytes of another value: under another shape, or from an offset on.
#pragma once

#include <span>
#include <vector>

#include "graph/graph_data.h"
#include "graph/op_def.h"

namespace leat {

// True if both strides put every element of the shape at the same place.
bool same_memory_order(const Shape& shape, const Strides& a, const Strides& b);

// False where renames_memory is false for all shapes and strides.
bool may_rename_memory(const NodeData& node);
// True if output 0 is input 0, element by element, in the same memory: no kernel has to run.
bool renames_memory(const NodeData& node, const TensorArg& input, const TensorArg& output);

// Output `output` of a node begins at element_offset of its input `input`, or the other way round.
struct ContiguousBox {
    int input = 0;
    int output = 0;
    bool is_output_whole = false;
    int64_t element_offset = 0;  // of the part, in the whole
};

// For an operator that only copies: where each part lies, if all parts are contiguous memory of
// their wholes; else nothing.
std::vector<ContiguousBox> contiguous_boxes(const NodeData& node,
                                            std::span<const TensorArg> inputs,
                                            std::span<const TensorArg> outputs);

// The results of the node may lie where its operands do, if the host runs it. values: by value of
// the graph, row-major, without data.
bool lies_over_operands(const GraphData& graph,
                        const NodeData& node,
                        std::span<const TensorArg> values);

}  // namespace leat
