// Rounding to multiples of alignments and page sizes, and of quotients.
#pragma once

#include <cstdint>
#include <type_traits>

namespace leat {

// The least multiple of `power_of_two` that is not below `value`, which is not negative.
constexpr int64_t round_up(int64_t value, int64_t power_of_two) {
    return (value + power_of_two - 1) & ~(power_of_two - 1);
}

// The least integer not below a / b, of which neither is negative.
template <class A, class B>
constexpr std::common_type_t<A, B> divide_up(A a, B b) {
    return (a + b - 1) / b;
}

}  // namespace leat
