#include "leat/tensor.h"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/error.h"
#include "base/out_of_memory.h"
#include "base/tensor_check.h"

namespace leat {
namespace {

constexpr size_t kAlignmentBytes = 64;

Result<std::shared_ptr<const void>> allocate_strings(int64_t count, std::byte** data) {
    auto* strings = new (std::nothrow) std::string[size_t(count)];
    if (strings == nullptr) {
        return out_of_memory("no memory for {} strings", count);
    }
    *data = reinterpret_cast<std::byte*>(strings);
    return std::shared_ptr<const void>(
        strings, [](const void* p) { delete[] static_cast<const std::string*>(p); });
}

// With its count of owners, in one block that the allocator has at hand: planning makes hundreds of
// tensors that hold a few extents, and std::aligned_alloc() searches for each.
std::shared_ptr<const void> allocate_few_bytes(size_t rounded, std::byte** data) {
    size_t room = rounded + kAlignmentBytes;
    auto block = std::make_shared<std::byte[]>(room);
    void* memory = block.get();
    *data = static_cast<std::byte*>(std::align(kAlignmentBytes, rounded, memory, room));
    return {std::move(block), *data};
}

Result<std::shared_ptr<const void>> allocate_bytes(int64_t bytes, std::byte** data) {
    constexpr size_t kFewBytes = 256;
    // aligned_alloc needs a multiple of the alignment; never zero, so that data is never null.
    const size_t rounded = (size_t(bytes) / kAlignmentBytes + 1) * kAlignmentBytes;
    if (rounded <= kFewBytes) {
        return allocate_few_bytes(rounded, data);
    }
    void* memory = std::aligned_alloc(kAlignmentBytes, rounded);
    if (memory == nullptr) {
        return out_of_memory("no memory for a tensor").with_needed(fmt::format("{} bytes", bytes));
    }
    std::memset(memory, 0, rounded);
    *data = static_cast<std::byte*>(memory);
    return std::shared_ptr<const void>(memory,
                                       [](const void* p) { std::free(const_cast<void*>(p)); });
}

}  // namespace

std::string text_of(DType dtype) {
    return is_known_dtype(dtype) ? std::string(name_of(dtype))
                                 : fmt::format("unknown type {}", int(dtype));
}

std::optional<int64_t> checked_count(const Shape& shape) {
    // Over the extents that are not zero, so that every product of some of them fits too.
    int64_t product = 1;
    bool is_empty = false;
    for (const int64_t extent : shape) {
        is_empty = is_empty || extent == 0;
        if (extent < 0 || (extent > 0 && __builtin_mul_overflow(product, extent, &product))) {
            return std::nullopt;
        }
    }
    return is_empty ? 0 : product;
}

Status check_shape(const Shape& shape) {
    if (checked_count(shape)) {
        return {};
    }
    for (int axis = 0; axis < shape.rank(); ++axis) {
        if (shape[axis] < 0) {
            return invalid_argument("the extent of axis {} is negative", axis)
                .with_found(fmt::format("shape {}", shape.to_string()))
                .with_needed("extents of 0 or more");
        }
    }
    return invalid_argument("the shape has too many elements for 64-bit sizes")
        .with_found(fmt::format("shape {}", shape.to_string()));
}

Status check_tensor_type(DType dtype, const Shape& shape) {
    if (!is_known_dtype(dtype)) {
        return invalid_argument("the element type is not one of leat's")
            .with_found(text_of(dtype))
            .with_needed(fmt::format("a number from 1 to {}", kDTypeCount - 1));
    }
    const std::optional<int64_t> count = checked_count(shape);
    if (!count) {
        return check_shape(shape);
    }
    if (!storage_bytes(dtype, *count)) {
        return invalid_argument("the tensor has too many bytes for 64-bit sizes")
            .with_found(fmt::format("{}[{}]", name_of(dtype), shape.to_string()));
    }
    return {};
}

Status check_tensor(const Tensor& tensor) {
    LEAT_RETURN_IF_ERROR(check_tensor_type(tensor.dtype(), tensor.shape()));
    if (tensor.bytes() == nullptr && tensor.byte_count() > 0) {
        return invalid_argument("the tensor has no memory")
            .with_found("a null pointer")
            .with_needed(fmt::format("{} bytes", tensor.byte_count()));
    }
    return {};
}

Result<Tensor> Tensor::allocate(DType dtype, const Shape& shape) {
    return catch_bad_alloc("make a tensor", [&]() -> Result<Tensor> {
        LEAT_RETURN_IF_ERROR(check_tensor_type(dtype, shape));
        const int64_t count = shape.element_count();
        const int64_t bytes = storage_bytes(dtype, count).value_or(0);
        Tensor tensor;
        tensor.dtype_ = dtype;
        tensor.shape_ = shape;
        LEAT_ASSIGN_OR_RETURN(tensor.owner_, dtype == DType::kString
                                                 ? allocate_strings(count, &tensor.data_)
                                                 : allocate_bytes(bytes, &tensor.data_));
        return tensor;
    });
}

Tensor Tensor::view(DType dtype,
                    const Shape& shape,
                    const void* data,
                    std::shared_ptr<const void> owner) {
    Tensor tensor;
    tensor.dtype_ = dtype;
    tensor.shape_ = shape;
    tensor.data_ = static_cast<std::byte*>(const_cast<void*>(data));
    tensor.owner_ = std::move(owner);
    return tensor;
}

Result<Tensor> Tensor::copy_of(DType dtype, const Shape& shape, const void* data, int64_t count) {
    return catch_bad_alloc("copy a tensor", [&]() -> Result<Tensor> {
        LEAT_RETURN_IF_ERROR(check_shape(shape));
        if (count != shape.element_count()) {
            return invalid_argument("the number of elements does not match the shape")
                .with_found(fmt::format("{} elements", count))
                .with_needed(
                    fmt::format("{} for shape {}", shape.element_count(), shape.to_string()));
        }
        LEAT_ASSIGN_OR_RETURN(Tensor tensor, allocate(dtype, shape));
        if (dtype == DType::kString) {
            const auto* source = static_cast<const std::string*>(data);
            std::copy(source, source + count, tensor.mutable_data<std::string>().begin());
        } else if (count > 0) {
            std::memcpy(tensor.data_, data, size_t(tensor.byte_count()));
        }
        return tensor;
    });
}

int64_t Tensor::byte_count() const {
    return storage_bytes(dtype_, element_count()).value_or(0);
}

bool Tensor::is_aligned() const {
    // Packed types are read byte by byte; a string needs pointer alignment; complex numbers their
    // parts'.
    const int bits = bits_of(dtype_);
    uintptr_t alignment = bits <= 8 ? 1 : uintptr_t(bits) / 8;
    if (dtype_ == DType::kString) {
        alignment = alignof(std::string);
    } else if (dtype_ == DType::kComplex64 || dtype_ == DType::kComplex128) {
        alignment /= 2;
    }
    return reinterpret_cast<uintptr_t>(data_) % std::max<uintptr_t>(alignment, 1) == 0;
}

Tensor Tensor::reshaped(const Shape& shape) const {
    LEAT_CHECK(shape.element_count() == element_count(), "reshape of {} to {}", shape_.to_string(),
               shape.to_string());
    Tensor copy = *this;
    copy.shape_ = shape;
    return copy;
}

// Memory ordering: who finds that nobody else has the list sees all that others read of it as done.
struct SharedValues::List {
    explicit List(std::vector<Value> given) : values(std::move(given)) {}
    bool is_shared() const { return owners.load(std::memory_order_acquire) > 1; }

    std::vector<Value> values;
    std::atomic<int64_t> owners{1};
};

SharedValues::SharedValues(std::vector<Value> list)
    : list_(list.empty() ? nullptr : new List(std::move(list))) {}

SharedValues::SharedValues(const SharedValues& other) noexcept : list_(other.list_) {
    if (list_ != nullptr) {
        list_->owners.fetch_add(1, std::memory_order_relaxed);
    }
}

void SharedValues::release() {
    if (list_->owners.fetch_sub(1, std::memory_order_acq_rel) == 1) {
        delete list_;
    }
}

std::span<const Value> SharedValues::read() const {
    return list_ == nullptr ? std::span<const Value>() : list_->values;
}

std::vector<Value>& SharedValues::change() {
    if (list_ == nullptr || list_->is_shared()) {
        auto own = std::make_unique<List>(list_ == nullptr ? std::vector<Value>() : list_->values);
        if (list_ != nullptr) {
            release();
        }
        list_ = own.release();
    }
    return list_->values;
}

Value Value::sequence(std::vector<Value> elements) {
    Value value;
    value.kind_ = Kind::kSequence;
    value.elements_ = SharedValues(std::move(elements));
    return value;
}

Value Value::optional(std::vector<Value> zero_or_one) {
    Value value;
    value.kind_ = Kind::kOptional;
    value.elements_ = SharedValues(std::move(zero_or_one));
    return value;
}

}  // namespace leat
