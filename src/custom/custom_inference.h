// Inference of nodes of custom operators: what the schema demands, the callback, and what it gave.
#pragma once

#include "graph/op_def.h"

namespace leat::custom {

// OpDef::infer of custom operators.
Status infer_custom(InferContext& context);

// Runs leave out outputs that nobody reads; kernels of programs get those that the schema does not
// call optional. Sets their type and shape, not their data. Inputs with data have known elements.
Status infer_unread_outputs(const NodeData& node,
                            std::span<const TensorArg> inputs,
                            std::span<TensorArg> outputs);

}  // namespace leat::custom
