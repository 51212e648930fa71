#include "backends/cpu/packing.h"

#include <algorithm>
#include <cstring>

namespace leat::cpu {

namespace {

float load(const std::byte* data, int64_t element) {
    float value;
    std::memcpy(&value, data + element * int64_t{sizeof(float)}, sizeof value);
    return value;
}

// Writes factor * `count` elements, column_stride apart, from element `first` of the tensor.
void pack_row(
    const WeightMatrix& matrix, int64_t first, int64_t count, float factor, float* panel_row) {
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
}

}  // namespace

void pack_panels(const WeightMatrix& matrix, int64_t nr, float factor, float* panels) {
    for (int64_t column = 0; column < matrix.columns; column += nr) {
        const int64_t count = std::min(nr, matrix.columns - column);
        for (const int64_t k_offset : matrix.k_offsets) {
            pack_row(matrix, k_offset + column * matrix.column_stride, count, factor, panels);
            std::fill(panels + count, panels + nr, 0.0F);
            panels += nr;
        }
    }
}

}  // namespace leat::cpu
