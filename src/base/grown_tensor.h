// GrownTensor: a tensor whose extents only the run knows. It gets parts one after the other, along
// its first axis, or all of its elements at once. The memory stays for the next run.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <optional>
#include <string>
#include <utility>

#include "base/error.h"
#include "base/tensor_check.h"
#include "leat/tensor.h"

namespace leat {

// Where the memory of a GrownTensor comes from, if not from the system.
class GrownTensorMemory {
  public:
    virtual ~GrownTensorMemory() = default;
    // stored: kUint8 or kString; its elements are anything.
    virtual Result<Tensor> allocate(DType stored, int64_t count) = 0;
};

class GrownTensor {
  public:
    // Null: the system. Outlives the tensor's use of it.
    void set_source(GrownTensorMemory* source) { source_ = source; }

    // Starts anew, without parts, in the memory that there is. Elements have whole bytes, or are
    // strings. part_bytes: of the elements that `whole` has behind its first extent.
    void begin(DType dtype, const Shape& whole, int64_t part_bytes) {
        dtype_ = dtype;
        shape_ = whole;
        shape_[0] = 0;
        part_bytes_ = part_bytes;
        // Strings are objects, other elements bytes.
        if ((memory_.dtype() == DType::kString) != (dtype == DType::kString)) {
            memory_ = Tensor();
        }
    }

    // Room for all elements, whatever they are, instead of those that there were. Memory grows by a
    // quarter at least. Strings are those that were there before, or empty. An error changes
    // nothing.
    Result<std::byte*> set_shape(DType dtype, const Shape& shape) {
        const std::optional<int64_t> count = checked_count(shape);
        const std::optional<int64_t> bytes = count ? storage_bytes(dtype, *count) : std::nullopt;
        if (!bytes) {
            return out_of_memory("a result has more bytes than 64 bits count")
                .with_found(fmt::format("{}[{}]", name_of(dtype), shape.to_string()));
        }
        const bool is_strings = dtype == DType::kString;
        const DType stored = is_strings ? DType::kString : DType::kUint8;
        if (memory_.dtype() != stored || memory_.byte_count() < *bytes) {
            LEAT_ASSIGN_OR_RETURN(memory_,
                                  allocate_with_spare(stored, is_strings ? *count : *bytes));
        }
        dtype_ = dtype;
        shape_ = shape;
        part_bytes_ = 0;
        if (*bytes > 0 && !is_strings && bits_of(dtype) < 8) {
            memory_.mutable_bytes()[*bytes - 1] = std::byte{0};  // bits behind the last element
        }
        return memory_.mutable_bytes();
    }

    // Room for another part, behind the others, which may move. Strings are as of set_shape(). An
    // error changes nothing.
    Result<std::byte*> add_part() {
        const int64_t used = used_bytes();
        if (memory_.byte_count() - used < part_bytes_) {
            LEAT_RETURN_IF_ERROR(grow(used));
        }
        ++shape_[0];
        return memory_.mutable_bytes() + used;
    }

    // Precondition: there is one.
    std::byte* last_part() { return memory_.mutable_bytes() + used_bytes() - part_bytes_; }
    const std::byte* data() const { return memory_.bytes(); }
    const Shape& shape() const { return shape_; }
    // The memory lives as long as the view, but begin() lets other elements be written there.
    Tensor view() const { return Tensor::view(dtype_, shape_, memory_.bytes(), memory_.owner()); }
    int64_t capacity_bytes() const { return memory_.byte_count(); }
    // Without parts and memory. Views keep that.
    void release() {
        GrownTensor empty;
        empty.source_ = source_;
        *this = std::move(empty);
    }

  private:
    static constexpr int64_t kLeastBytes = 4096;

    // What comes from a source goes with the run's result, and has no spare room.
    Result<Tensor> allocate(DType stored, int64_t count) const {
        return source_ == nullptr ? Tensor::allocate(stored, Shape({count}))
                                  : source_->allocate(stored, count);
    }

    // needed: bytes, or strings.
    Result<Tensor> allocate_with_spare(DType stored, int64_t needed) const {
        if (source_ != nullptr) {
            return source_->allocate(stored, needed);
        }
        const int64_t former = memory_.dtype() == stored ? memory_.element_count() : 0;
        const int64_t most = std::numeric_limits<int64_t>::max();
        const int64_t spare = former > most - former / 4 ? most : former + former / 4;
        const int64_t least = stored == DType::kString ? 0 : kLeastBytes;
        const int64_t wanted = std::max({needed, spare, least});
        Result<Tensor> larger = Tensor::allocate(stored, Shape({wanted}));
        // Where a quarter more does not fit, what is needed may.
        return larger.ok() || wanted == needed ? std::move(larger)
                                               : Tensor::allocate(stored, Shape({needed}));
    }

    int64_t used_bytes() const { return shape_.rank() == 0 ? 0 : shape_[0] * part_bytes_; }

    // Doubles, so that a part moves once in the mean, whatever their number.
    Status grow(int64_t used) {
        const int64_t most = std::numeric_limits<int64_t>::max() - used;
        if (part_bytes_ > most) {
            return out_of_memory("a result has more bytes than 64 bits count");
        }
        const int64_t wanted = std::max(used + part_bytes_, kLeastBytes);
        const int64_t larger_bytes = std::max(wanted, std::min(2 * used, most));
        if (dtype_ == DType::kString) {
            return grow_strings(used, larger_bytes);
        }
        LEAT_ASSIGN_OR_RETURN(Tensor larger, allocate(DType::kUint8, larger_bytes));
        if (used > 0) {
            std::memcpy(larger.mutable_bytes(), memory_.bytes(), size_t(used));
        }
        memory_ = std::move(larger);
        return {};
    }

    Status grow_strings(int64_t used, int64_t larger_bytes) {
        constexpr auto kStringBytes = int64_t{sizeof(std::string)};
        LEAT_ASSIGN_OR_RETURN(Tensor larger,
                              allocate(DType::kString, larger_bytes / kStringBytes + 1));
        auto* const strings = reinterpret_cast<std::string*>(memory_.mutable_bytes());
        std::move(strings, strings + used / kStringBytes,
                  reinterpret_cast<std::string*>(larger.mutable_bytes()));
        memory_ = std::move(larger);
        return {};
    }

    DType dtype_ = DType::kUndefined;
    Shape shape_;  // the first extent: parts
    int64_t part_bytes_ = 0;
    Tensor memory_;  // bytes, or strings
    GrownTensorMemory* source_ = nullptr;
};

}  // namespace leat
