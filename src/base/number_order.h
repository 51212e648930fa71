// NumberOrder: how some numbers compare with one another, whatever they are themselves.
//
// What looks at addresses only to compare them comes to the same end for all addresses of one
// order. Immutable.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

namespace leat {

class NumberOrder {
  public:
    explicit NumberOrder(std::span<const int64_t> numbers)
        : ascending_(numbers.size()), is_larger_(numbers.size(), false) {
        std::iota(ascending_.begin(), ascending_.end(), 0);
        std::sort(ascending_.begin(), ascending_.end(),
                  [&](int32_t a, int32_t b) { return numbers[size_t(a)] < numbers[size_t(b)]; });
        for (size_t i = 1; i < ascending_.size(); ++i) {
            is_larger_[i] = number_at(numbers, i - 1) < number_at(numbers, i);
        }
    }

    // True if any two of these compare as the two at their places did.
    bool holds_for(std::span<const int64_t> numbers) const {
        if (numbers.size() != ascending_.size()) {
            return false;
        }
        for (size_t i = 1; i < ascending_.size(); ++i) {
            const int64_t before = number_at(numbers, i - 1);
            const int64_t own = number_at(numbers, i);
            if (is_larger_[i] ? before >= own : before != own) {
                return false;
            }
        }
        return true;
    }

  private:
    int64_t number_at(std::span<const int64_t> numbers, size_t i) const {
        return numbers[size_t(ascending_[i])];
    }

    std::vector<int32_t> ascending_;  // places of the numbers
    std::vector<bool> is_larger_;  // than the one before, in ascending order; else they are equal
};

}  // namespace leat
