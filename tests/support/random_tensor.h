// Values that look random and are the same on every machine.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "base/split_mix.h"
#include "leat/tensor.h"

namespace leat::testing_support {

// In [-0.5, 0.5).
inline std::vector<float> random_floats(int64_t count, uint64_t seed) {
    std::vector<float> values(static_cast<size_t>(count));
    for (size_t i = 0; i < values.size(); ++i) {
        values[i] = float(mixed(seed * 1000003 + i) >> 40) * 0x1p-24F - 0.5F;
    }
    return values;
}

inline Tensor random_tensor(const Shape& shape, uint64_t seed) {
    return *Tensor::from<float>(shape, random_floats(shape.element_count(), seed));
}

}  // namespace leat::testing_support
