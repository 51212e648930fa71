#include <algorithm>
#include <cstring>
#include <string>

#include "base/packed_elements.h"
#include "ops/movement/movement.h"

namespace leat {
namespace {

// Along the last axis the strides tell the way; from row to row the indices do.
template <class T>
void copy_typed(const Shape& shape, const StridedPlace& source, const StridedPlace& destination) {
    const auto* from = reinterpret_cast<const T*>(source.data);
    auto* to = reinterpret_cast<T*>(destination.data);
    Shape rows = shape;
    int64_t columns = 1;
    int64_t from_stride = 1;
    int64_t to_stride = 1;
    if (const int last = shape.rank() - 1; last >= 0) {
        columns = shape[last];
        from_stride = source.strides[size_t(last)];
        to_stride = destination.strides[size_t(last)];
        rows[last] = 1;
    }
    StridedIndex read(rows, source.strides, source.offset);
    StridedIndex write(rows, destination.strides, destination.offset);
    const int64_t count = rows.element_count();
    for (int64_t row = 0; row < count; ++row) {
        const T* element = from + read.offset();
        T* copy = to + write.offset();
        if (from_stride == 1 && to_stride == 1) {
            std::copy_n(element, columns, copy);
        } else {
            for (int64_t column = 0; column < columns; ++column) {
                copy[column * to_stride] = element[column * from_stride];
            }
        }
        read.advance();
        write.advance();
    }
}

}  // namespace

void copy_elements(DType dtype,
                   const std::byte* source,
                   int64_t source_index,
                   std::byte* destination,
                   int64_t destination_index,
                   int64_t count) {
    if (count <= 0) {
        return;
    }
    if (dtype == DType::kString) {
        const auto* from = reinterpret_cast<const std::string*>(source) + source_index;
        std::copy(from, from + count,
                  reinterpret_cast<std::string*>(destination) + destination_index);
        return;
    }
    const int bits = bits_of(dtype);
    if (bits < 8) {
        for (int64_t i = 0; i < count; ++i) {
            store_packed(bits, destination, destination_index + i,
                         load_packed(bits, source, source_index + i));
        }
        return;
    }
    const int64_t bytes = bits / 8;
    std::memcpy(destination + destination_index * bytes, source + source_index * bytes,
                size_t(count * bytes));
}

void copy_strided_plain(DType dtype,
                        const Shape& shape,
                        const StridedPlace& source,
                        const StridedPlace& destination) {
    if (dtype == DType::kString) {
        return copy_typed<std::string>(shape, source, destination);
    }
    switch (bits_of(dtype)) {
        case 8:
            return copy_typed<uint8_t>(shape, source, destination);
        case 16:
            return copy_typed<uint16_t>(shape, source, destination);
        case 32:
            return copy_typed<uint32_t>(shape, source, destination);
        case 64:
            // A complex64 element is only aligned to its parts.
            if (dtype != DType::kComplex64) {
                return copy_typed<uint64_t>(shape, source, destination);
            }
            break;
        default:
            break;
    }
    StridedIndex read(shape, source.strides, source.offset);
    StridedIndex write(shape, destination.strides, destination.offset);
    const int64_t count = shape.element_count();
    for (int64_t i = 0; i < count; ++i) {
        copy_elements(dtype, source.data, read.offset(), destination.data, write.offset(), 1);
        read.advance();
        write.advance();
    }
}

}  // namespace leat
