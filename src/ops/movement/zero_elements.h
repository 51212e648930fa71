// Elements that an operator leaves out: zero, false, or the empty string.
#pragma once

#include <algorithm>
#include <cstring>
#include <string>

#include "graph/op_def.h"
#include "ops/movement/movement.h"

namespace leat {

// Makes elements [begin, begin + count) of a row-major tensor zero. Packed elements beside them
// keep their bits.
inline void zero_elements(DType dtype, std::byte* data, int64_t begin, int64_t count) {
    if (count <= 0) {
        return;
    }
    if (dtype == DType::kString) {
        auto* const first = reinterpret_cast<std::string*>(data) + begin;
        std::for_each(first, first + count, [](std::string& element) { element.clear(); });
        return;
    }
    const int bits = bits_of(dtype);
    if (bits < 8) {
        const std::byte zero{};
        for (int64_t i = 0; i < count; ++i) {
            copy_elements(dtype, &zero, 0, data, begin + i, 1);
        }
        return;
    }
    std::memset(data + begin * (bits / 8), 0, size_t(count * (bits / 8)));
}

inline void zero_all_elements(const TensorArg& y) {
    zero_elements(y.dtype, y.data, 0, y.shape.element_count());
}

}  // namespace leat
