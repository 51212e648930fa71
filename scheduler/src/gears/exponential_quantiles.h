// Random numbers of the exponential distribution of mean 1 without a logarithm for each.
#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "base/split_mix.h"

namespace leat::scheduler {

// 256 quantiles of equal weight; the largest is 6.2.
class ExponentialQuantiles {
  public:
    ExponentialQuantiles() {
        for (int32_t i = 0; i < kCount; ++i) {
            quantiles_[size_t(i)] = -std::log(1 - (i + 0.5) / kCount);
        }
    }
    double draw(SplitMix& random) const { return quantiles_[random.next() % kCount]; }

  private:
    static constexpr int32_t kCount = 256;
    std::array<double, kCount> quantiles_ = {};
};

}  // namespace leat::scheduler
