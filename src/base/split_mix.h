// SplitMix64 (Steele, Lea, Flood, OOPSLA 2014): the same random numbers everywhere.
#pragma once

#include <cstdint>

namespace leat {

// Its finalizer: every bit of the result depends on every bit of `z`.
inline uint64_t mixed(uint64_t z) {
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
}

class SplitMix {
  public:
    explicit SplitMix(uint64_t seed) : state_(seed) {}
    uint64_t next() {
        state_ += 0x9e3779b97f4a7c15;
        return mixed(state_);
    }
    // In [0, bound); bound >= 1.
    int32_t below(int32_t bound) {
        return int32_t(((next() >> 32) * uint64_t(uint32_t(bound))) >> 32);
    }
    // In [0, 1).
    double unit() { return double(next() >> 11) * 0x1p-53; }

  private:
    uint64_t state_;
};

}  // namespace leat
