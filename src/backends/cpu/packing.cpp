#include "backends/cpu/packing.h"

#include <fmt/core.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <string_view>

namespace leat::cpu {

namespace {

float load(const std::byte* data, int64_t element) {
    float value;
    std::memcpy(&value, data + element * int64_t{sizeof(float)}, sizeof value);
    return value;
}

// Writes factor * `count` elements of a row of K, from `column` on.
void pack_row(const WeightMatrix& matrix,
              int64_t k_offset,
              int64_t column,
              int64_t count,
              float factor,
              float* panel_row) {
    const int64_t first = k_offset + column * matrix.column_stride;
    if (matrix.column_stride == 1) {
        std::memcpy(panel_row, matrix.data + first * int64_t{sizeof(float)},
                    size_t(count) * sizeof(float));
    } else {
        for (int64_t j = 0; j < count; ++j) {
            panel_row[j] = load(matrix.data, first + j * matrix.column_stride);
        }
    }
    if (factor != 1) {
        std::transform(panel_row, panel_row + count, panel_row,
                       [factor](float x) { return factor * x; });
    }
    if (!matrix.column_factors.empty()) {
        std::transform(panel_row, panel_row + count, matrix.column_factors.begin() + column,
                       panel_row, std::multiplies<>());
    }
}

}  // namespace

void pack_panels(const WeightMatrix& matrix, int64_t nr, float factor, float* panels) {
    for (int64_t column = 0; column < matrix.columns; column += nr) {
        const int64_t count = std::min(nr, matrix.columns - column);
        for (const int64_t k_offset : matrix.k_offsets) {
            pack_row(matrix, k_offset, column, count, factor, panels);
            std::fill(panels + count, panels + nr, 0.0F);
            panels += nr;
        }
    }
}

std::string column_factors_key(std::span<const float> factors) {
    if (factors.empty()) {
        return {};
    }
    const std::string_view bytes(reinterpret_cast<const char*>(factors.data()),
                                 factors.size_bytes());
    return fmt::format(" factors={:016x}", std::hash<std::string_view>()(bytes));
}

}  // namespace leat::cpu
