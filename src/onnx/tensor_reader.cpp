#include "onnx/tensor_reader.h"

#include <algorithm>
#include <cstring>

#include "base/error.h"
#include "base/packed_elements.h"

namespace leat::onnx {
namespace {

// Larger dense forms of sparse tensors are refused: a few bytes of a file must not take all memory.
constexpr int64_t kMaxDenseBytes = int64_t{1} << 28;

Status wrong_count(
    const char* what, int64_t found, int64_t needed, DType dtype, const Shape& shape) {
    return invalid_argument("the data does not match dtype and dims")
        .with_found(fmt::format("{} {}", found, what))
        .with_needed(fmt::format("{} for {}[{}]", needed, name_of(dtype), shape.to_string()));
}

// A view of the file, or a copy if the bytes are few.
Result<Tensor> view_of(DType dtype,
                       const Shape& shape,
                       Bytes bytes,
                       std::shared_ptr<const void> owner) {
    if (!is_small(bytes)) {
        return Tensor::view(dtype, shape, bytes.data(), std::move(owner));
    }
    LEAT_ASSIGN_OR_RETURN(Tensor tensor, Tensor::allocate(dtype, shape));
    if (!bytes.empty()) {
        std::memcpy(tensor.mutable_bytes(), bytes.data(), bytes.size());
    }
    return tensor;
}

// Copies encoded fixed-width elements.
Result<Tensor> read_fixed(const EncodedScalars& encoded,
                          DType dtype,
                          const Shape& shape,
                          const Source& source) {
    const int64_t needed = *storage_bytes(dtype, shape.element_count());
    if (encoded.byte_count() != needed) {
        return wrong_count("bytes of elements", encoded.byte_count(), needed, dtype, shape);
    }
    if (encoded.runs.size() == 1) {
        return view_of(dtype, shape, encoded.runs[0], source.owner);
    }
    LEAT_ASSIGN_OR_RETURN(Tensor tensor, Tensor::allocate(dtype, shape));
    std::byte* out = tensor.mutable_bytes();
    for (const Bytes run : encoded.runs) {
        std::memcpy(out, run.data(), run.size());
        out += run.size();
    }
    return tensor;
}

// Decodes varints to elements of `bytes_each` bytes, keeping the low bits (two's complement): the
// typed fields carry all integer types, the bits of the 8- and 16-bit floats, and packed bytes of
// 2- and 4-bit types.
Result<Tensor> read_varints(const EncodedScalars& encoded, DType dtype, const Shape& shape) {
    const int64_t needed_bytes = *storage_bytes(dtype, shape.element_count());
    const int64_t bytes_each = std::max(bits_of(dtype) / 8, 1);
    const int64_t needed_count = needed_bytes / bytes_each;
    // Before the allocation, so that dims alone cannot take all memory: a varint has at least a
    // byte.
    if (encoded.byte_count() < needed_count) {
        return wrong_count("bytes of numbers", encoded.byte_count(), needed_count, dtype, shape);
    }
    LEAT_ASSIGN_OR_RETURN(Tensor tensor, Tensor::allocate(dtype, shape));
    int64_t count = 0;
    for (Bytes run : encoded.runs) {
        while (!run.empty()) {
            uint64_t value = 0;
            if (!take_varint(run, value)) {
                return parse_error("a packed number is cut off");
            }
            if (count < needed_count) {
                value = dtype == DType::kBool ? uint64_t(value != 0) : value;
                std::memcpy(tensor.mutable_bytes() + count * bytes_each, &value,
                            size_t(bytes_each));
            }
            ++count;
        }
    }
    if (count != needed_count) {
        return wrong_count("numbers", count, needed_count, dtype, shape);
    }
    return tensor;
}

// A number for each element of 6 bits, whose other bits are 0.
Result<Tensor> read_six_bits(const EncodedScalars& encoded, DType dtype, const Shape& shape) {
    LEAT_ASSIGN_OR_RETURN(const Tensor codes, read_varints(encoded, DType::kUint8, shape));
    LEAT_ASSIGN_OR_RETURN(Tensor tensor, Tensor::allocate(dtype, shape));
    for (int64_t i = 0; i < shape.element_count(); ++i) {
        store_packed(6, tensor.mutable_bytes(), i, uint8_t(codes.bytes()[i]));
    }
    return tensor;
}

Result<Tensor> read_strings(const TensorProto& proto, const Shape& shape) {
    const int64_t count = shape.element_count();
    if (int64_t(proto.string_data.size()) != count) {
        return wrong_count("strings", int64_t(proto.string_data.size()), count, DType::kString,
                           shape);
    }
    LEAT_ASSIGN_OR_RETURN(Tensor tensor, Tensor::allocate(DType::kString, shape));
    const std::span<std::string> strings = tensor.mutable_data<std::string>();
    for (size_t i = 0; i < strings.size(); ++i) {
        strings[i] = proto.string_data[i];
    }
    return tensor;
}

Result<Tensor> read_typed(const TensorProto& proto,
                          DType dtype,
                          const Shape& shape,
                          const Source& source) {
    switch (dtype) {
        case DType::kFloat32:
        case DType::kComplex64:
            return read_fixed(proto.float_data, dtype, shape, source);
        case DType::kFloat64:
        case DType::kComplex128:
            return read_fixed(proto.double_data, dtype, shape, source);
        case DType::kInt64:
            return read_varints(proto.int64_data, dtype, shape);
        case DType::kUint32:
        case DType::kUint64:
            return read_varints(proto.uint64_data, dtype, shape);
        case DType::kString:
            return read_strings(proto, shape);
        case DType::kFloat6E2M3:
        case DType::kFloat6E3M2:
            return read_six_bits(proto.int32_data, dtype, shape);
        default:
            return read_varints(proto.int32_data, dtype, shape);
    }
}

Result<Shape> read_shape(std::span<const int64_t> dims) {
    const std::optional<Shape> shape = Shape::make(dims);
    if (shape) {
        return *shape;
    }
    std::string found;
    for (const int64_t dim : dims.first(std::min<size_t>(dims.size(), 16))) {
        found.append(found.empty() ? "" : "x").append(std::to_string(dim));
    }
    if (dims.size() > size_t(kMaxRank)) {
        return unsupported("a tensor has too many axes")
            .with_found(fmt::format("rank {}", dims.size()))
            .with_needed(fmt::format("at most {}", kMaxRank));
    }
    return invalid_argument("the dims of a tensor are negative or overflow")
        .with_found(found)
        .with_needed("extents of 0 or more whose product fits 63 bits");
}

Result<Tensor> read_checked(const TensorProto& proto, const Source& source) {
    LEAT_ASSIGN_OR_RETURN(const DType dtype, read_dtype(proto.data_type));
    if (dtype == DType::kUndefined) {
        return invalid_argument("the tensor has no element type");
    }
    if (proto.segmented) {
        return unsupported("tensors in segments are not supported");
    }
    LEAT_ASSIGN_OR_RETURN(const Shape shape, read_shape(proto.dims));
    const std::optional<int64_t> needed = storage_bytes(dtype, shape.element_count());
    if (!needed) {
        return invalid_argument("the dims of a tensor overflow")
            .with_found(fmt::format("{}[{}]", name_of(dtype), shape.to_string()))
            .with_needed("a size in bytes that fits 63 bits");
    }
    if ((proto.external || proto.raw_data) && dtype == DType::kString) {
        return invalid_argument("strings must be in string_data, not in raw or external data");
    }
    if (proto.external) {
        if (source.external == nullptr) {
            return unsupported("external data is only allowed in model files");
        }
        std::shared_ptr<const void> owner;
        LEAT_ASSIGN_OR_RETURN(const Bytes bytes,
                              source.external->find(proto.external_data, *needed, owner));
        return view_of(dtype, shape, bytes, std::move(owner));
    }
    if (proto.raw_data) {
        const auto found = int64_t(proto.raw_data->size());
        if (found != *needed) {
            return wrong_count("bytes of raw data", found, *needed, dtype, shape);
        }
        return view_of(dtype, shape, *proto.raw_data, source.owner);
    }
    return read_typed(proto, dtype, shape, source);
}

// Copies value i of `values` to element `index` of `dense`.
void copy_element(const Tensor& values, int64_t i, Tensor& dense, int64_t index) {
    if (dense.dtype() == DType::kString) {
        dense.mutable_data<std::string>()[size_t(index)] = values.data<std::string>()[size_t(i)];
        return;
    }
    const int64_t bytes = bits_of(dense.dtype()) / 8;
    std::memcpy(dense.mutable_bytes() + index * bytes, values.bytes() + i * bytes, size_t(bytes));
}

// Indices are [count] into the flat tensor or [count, rank].
Status scatter(const Tensor& values, const Tensor& indices, Tensor& dense) {
    const Shape& shape = dense.shape();
    const int64_t count = values.element_count();
    const bool flat = indices.shape().rank() == 1;
    const bool fits = indices.dtype() == DType::kInt64 && indices.shape().rank() >= 1 &&
                      indices.shape().rank() <= 2 && indices.shape()[0] == count &&
                      (flat || indices.shape()[1] == shape.rank());
    if (!fits) {
        return invalid_argument("the indices of a sparse tensor have the wrong shape or type")
            .with_found(
                fmt::format("{}[{}]", name_of(indices.dtype()), indices.shape().to_string()))
            .with_needed(fmt::format("i64[{}] or i64[{}x{}]", count, count, shape.rank()));
    }
    const auto index_at = [&](int64_t i) {
        int64_t index = 0;
        std::memcpy(&index, indices.bytes() + i * int64_t(sizeof(index)), sizeof(index));
        return index;
    };
    const int columns = flat ? 1 : shape.rank();
    for (int64_t i = 0; i < count; ++i) {
        int64_t position = 0;
        for (int axis = 0; axis < columns; ++axis) {
            const int64_t extent = flat ? shape.element_count() : shape[axis];
            const int64_t index = index_at(i * columns + axis);
            if (index < 0 || index >= extent) {
                return invalid_argument("an index of a sparse tensor is out of range")
                    .with_found(fmt::format("{}", index))
                    .with_needed(fmt::format("0 to {}", extent - 1));
            }
            position = position * extent + index;
        }
        copy_element(values, i, dense, position);
    }
    return {};
}

Result<Value> as_value(Result<Tensor> tensor) {
    if (!tensor.ok()) {
        return std::move(tensor).error();
    }
    return Value(std::move(tensor).value());
}

}  // namespace

Result<DType> read_dtype(int32_t number) {
    if (number < 0 || number >= kDTypeCount) {
        return unsupported("unknown element type")
            .with_found(fmt::format("{}", number))
            .with_needed(fmt::format("1 to {}", kDTypeCount - 1));
    }
    return DType(number);
}

Result<Tensor> read_tensor(const TensorProto& proto, const Source& source) {
    Result<Tensor> tensor = read_checked(proto, source);
    if (!tensor.ok() && !proto.name.empty()) {
        return std::move(tensor).error().with_node(fmt::format("tensor '{}'", proto.name));
    }
    return tensor;
}

Result<Tensor> read_sparse_tensor(const SparseTensorProto& proto, const Source& source) {
    const auto context = [&](Status status) {
        return std::move(status).with_node(fmt::format("sparse tensor '{}'", proto.values.name));
    };
    LEAT_ASSIGN_OR_RETURN(const Tensor values, read_tensor(proto.values, source));
    LEAT_ASSIGN_OR_RETURN(const Tensor indices, read_tensor(proto.indices, source));
    Result<Shape> shape = read_shape(proto.dims);
    if (!shape.ok()) {
        return context(std::move(shape).error());
    }
    const std::optional<int64_t> bytes = storage_bytes(values.dtype(), shape->element_count());
    if (!bytes || *bytes > kMaxDenseBytes || bits_of(values.dtype()) < 8) {
        return context(
            unsupported("the sparse tensor is too large to be made dense, or of a packed type")
                .with_found(fmt::format("{}[{}]", name_of(values.dtype()), shape->to_string()))
                .with_needed(fmt::format("at most {} bytes", kMaxDenseBytes)));
    }
    LEAT_ASSIGN_OR_RETURN(Tensor dense, Tensor::allocate(values.dtype(), *shape));
    if (Status status = scatter(values, indices, dense); !status.ok()) {
        return context(std::move(status));
    }
    return dense;
}

Result<Value> read_sequence(const SequenceProto& proto, const Source& source) {
    if (proto.unsupported_value) {
        return unsupported("sequences of maps and of sparse tensors are not supported");
    }
    std::vector<Value> elements;
    for (const TensorProto& tensor : proto.tensor_values) {
        LEAT_ASSIGN_OR_RETURN(elements.emplace_back(), as_value(read_tensor(tensor, source)));
    }
    for (const SequenceProto& sequence : proto.sequence_values) {
        LEAT_ASSIGN_OR_RETURN(elements.emplace_back(), read_sequence(sequence, source));
    }
    for (const OptionalProto& optional : proto.optional_values) {
        LEAT_ASSIGN_OR_RETURN(elements.emplace_back(), read_optional(optional, source));
    }
    return Value::sequence(std::move(elements));
}

Result<Value> read_optional(const OptionalProto& proto, const Source& source) {
    if (proto.unsupported_value) {
        return unsupported("optional maps and sparse tensors are not supported");
    }
    std::vector<Value> elements;
    // An empty optional may carry an undefined tensor.
    if (proto.tensor_value && proto.tensor_value->data_type != int32_t(DType::kUndefined)) {
        LEAT_ASSIGN_OR_RETURN(elements.emplace_back(),
                              as_value(read_tensor(*proto.tensor_value, source)));
    } else if (proto.sequence_value != nullptr) {
        LEAT_ASSIGN_OR_RETURN(elements.emplace_back(),
                              read_sequence(*proto.sequence_value, source));
    } else if (proto.optional_value != nullptr) {
        LEAT_ASSIGN_OR_RETURN(elements.emplace_back(),
                              read_optional(*proto.optional_value, source));
    }
    return Value::optional(std::move(elements));
}

}  // namespace leat::onnx
