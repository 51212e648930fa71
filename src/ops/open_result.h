// Results of which the kernel says the shape: OpDef::open_outputs.
#pragma once

#include "base/error.h"
#include "base/grown_tensor.h"
#include "graph/op_def.h"

namespace leat {

// Gives an output that is present its shape, and returns its memory, whose elements are anything.
// The only thing of a run that may allocate: nothing, where an earlier one was as large.
template <class T = std::byte>
Result<T*> give_shape(const TensorArg& output, const Shape& shape) {
    LEAT_ASSIGN_OR_RETURN(std::byte* const data,
                          output.as<GrownTensor>()->set_shape(output.dtype, shape));
    return reinterpret_cast<T*>(data);
}

}  // namespace leat
