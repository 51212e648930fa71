// Tensor: a typed, shaped, row-major block of memory with shared ownership; Value: what flows along
// an edge of a graph (tensor, sequence or optional).
//
// Copying a Tensor shares its memory. Packed types (2 and 4 bits) are stored low bits first.
// Thread safety: concurrent reads are safe; writing while another thread reads is the caller's
// race.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "leat/dtype.h"
#include "leat/export.h"
#include "leat/shape.h"
#include "leat/status.h"

namespace leat {

class LEAT_API Tensor {
  public:
    // An undefined tensor: dtype() == kUndefined, no data.
    Tensor() = default;

    // New zeroed memory (empty strings for kString), 64-byte aligned. invalid_argument: an unknown
    // element type, a negative extent, or a size that 64-bit numbers do not hold; out_of_memory
    // instead of an abort.
    static Result<Tensor> allocate(DType dtype, const Shape& shape);
    // A copy of `values`; needs values.size() == shape.element_count().
    template <class T>
    static Result<Tensor> from(const Shape& shape, std::span<const T> values) {
        return copy_of(kDTypeOf<T>, shape, values.data(), int64_t(values.size()));
    }
    template <class T>
    static Result<Tensor> from(const Shape& shape, const std::vector<T>& values) {
        return from<T>(shape, std::span<const T>(values));
    }
    // A view of memory that somebody else keeps alive as long as `owner` lives (or for ever, if
    // null). `data` needs no alignment: see is_aligned(). Nothing is checked here: who takes the
    // view (Graph, Request) checks its type and shape.
    static Tensor view(DType dtype,
                       const Shape& shape,
                       const void* data,
                       std::shared_ptr<const void> owner);

    bool defined() const { return dtype_ != DType::kUndefined; }
    DType dtype() const { return dtype_; }
    const Shape& shape() const { return shape_; }
    int64_t element_count() const { return shape_.element_count(); }
    int64_t byte_count() const;

    const std::byte* bytes() const { return data_; }
    // Only for tensors made by allocate() and from(), which own writable memory.
    std::byte* mutable_bytes() { return data_; }
    // True when typed access is allowed: the address is a multiple of the element size.
    bool is_aligned() const;

    // Typed access. Precondition: T matches dtype() and is_aligned().
    template <class T>
    std::span<const T> data() const {
        return {reinterpret_cast<const T*>(data_), size_t(element_count())};
    }
    template <class T>
    std::span<T> mutable_data() {
        return {reinterpret_cast<T*>(data_), size_t(element_count())};
    }
    // The same memory under another shape. Precondition: same element count.
    Tensor reshaped(const Shape& shape) const;
    const std::shared_ptr<const void>& owner() const { return owner_; }

  private:
    static Result<Tensor> copy_of(DType dtype, const Shape& shape, const void* data, int64_t count);

    DType dtype_ = DType::kUndefined;
    Shape shape_;
    std::byte* data_ = nullptr;
    std::shared_ptr<const void> owner_;
};

class Value;

// The elements of sequences and optionals, which copies of a value share: whoever changes them gets
// a list of its own before, unless nobody else has it.
class LEAT_API SharedValues {
  public:
    SharedValues() = default;
    explicit SharedValues(std::vector<Value> list);
    SharedValues(const SharedValues& other) noexcept;
    SharedValues(SharedValues&& other) noexcept : list_(std::exchange(other.list_, nullptr)) {}
    SharedValues& operator=(SharedValues other) noexcept {
        std::swap(list_, other.list_);
        return *this;
    }
    ~SharedValues() {
        if (list_ != nullptr) {
            release();
        }
    }

    std::span<const Value> read() const;
    std::vector<Value>& change();

  private:
    struct List;
    void release();
    List* list_ = nullptr;  // null: there are none
};

// What an edge carries. An optional that is empty has kind kOptional and no elements; one that
// holds a value has exactly one element. A sequence has any number of elements. A copy takes the
// same time whatever their number.
class LEAT_API Value {
  public:
    enum class Kind : uint8_t { kTensor, kSequence, kOptional };

    Value() = default;
    Value(Tensor tensor) : tensor_(std::move(tensor)) {}  // NOLINT(google-explicit-constructor)
    static Value sequence(std::vector<Value> elements);
    static Value optional(std::vector<Value> zero_or_one);

    Kind kind() const { return kind_; }
    bool is_tensor() const { return kind_ == Kind::kTensor; }
    const Tensor& tensor() const { return tensor_; }
    Tensor& tensor() { return tensor_; }
    // Valid until the value changes or ends.
    std::span<const Value> elements() const { return elements_.read(); }
    // Valid until the value is copied, too.
    std::vector<Value>& mutable_elements() { return elements_.change(); }

  private:
    Kind kind_ = Kind::kTensor;
    Tensor tensor_;
    SharedValues elements_;
};

}  // namespace leat
