// Rounding to multiples of alignments and page sizes.
#pragma once

#include <cstdint>

namespace leat {

// The least multiple of `power_of_two` that is not below `value`, which is not negative.
constexpr int64_t round_up(int64_t value, int64_t power_of_two) {
    return (value + power_of_two - 1) & ~(power_of_two - 1);
}

}  // namespace leat
