// TensorProto to Tensor: raw data and single packed float runs become views of the file, the rest
// is copied.
#pragma once

#include <memory>

#include "leat/tensor.h"
#include "onnx/external_data.h"
#include "onnx/proto.h"

namespace leat::onnx {

// Where a message's bytes come from.
struct Source {
    std::shared_ptr<const void> owner;  // keeps the views alive
    ExternalData* external = nullptr;   // null: external data is an error
};

// Errors name the tensor, found and needed: rank, dims that overflow, byte count, unknown dtype.
Result<Tensor> read_tensor(const TensorProto& proto, const Source& source);
// The dense form; elements that are not given are zero.
Result<Tensor> read_sparse_tensor(const SparseTensorProto& proto, const Source& source);
// The element type of a number in a file, kUndefined (0) included.
Result<DType> read_dtype(int32_t number);
Result<Value> read_sequence(const SequenceProto& proto, const Source& source);
Result<Value> read_optional(const OptionalProto& proto, const Source& source);

}  // namespace leat::onnx
