// Tensors that come from outside, checked before anything multiplies their extents. Defined in
// tensor.cpp.
#pragma once

#include <optional>
#include <string>

#include "leat/dtype.h"
#include "leat/shape.h"
#include "leat/status.h"
#include "leat/tensor.h"

namespace leat {

// Its name; for a number that leat does not know "unknown type 200".
std::string text_of(DType dtype);

// The elements of a shape that may be none; nullopt where check_shape() has an error.
std::optional<int64_t> checked_count(const Shape& shape);

// invalid_argument: a negative extent, or more elements than 64-bit numbers count.
Status check_shape(const Shape& shape);

// The same; also an element type that leat does not know, or more bytes than 64-bit numbers count.
Status check_tensor_type(DType dtype, const Shape& shape);

// The same of a view that somebody made; also one without memory for its bytes. An undefined tensor
// has neither.
Status check_tensor(const Tensor& tensor);

}  // namespace leat
