// Philox4x32-10 (Salmon, Moraes, Dror, Shaw: Parallel Random Numbers: As Easy as 1, 2, 3; SC 2011):
// random bits as a function of a key and a counter, so that nothing depends on who draws when.
#pragma once

#include <array>
#include <cstdint>

namespace leat {

// Block `counter` of the stream of `key`: 128 random bits.
inline std::array<uint32_t, 4> philox_block(uint64_t key, uint64_t counter) {
    constexpr uint64_t kMultiplier0 = 0xd2511f53;
    constexpr uint64_t kMultiplier1 = 0xcd9e8d57;
    constexpr uint32_t kWeyl0 = 0x9e3779b9;
    constexpr uint32_t kWeyl1 = 0xbb67ae85;
    constexpr int kRounds = 10;
    auto key0 = uint32_t(key);
    auto key1 = uint32_t(key >> 32);
    std::array<uint32_t, 4> x = {uint32_t(counter), uint32_t(counter >> 32), 0, 0};
    for (int round = 0; round < kRounds; ++round) {
        const uint64_t product0 = kMultiplier0 * x[0];
        const uint64_t product1 = kMultiplier1 * x[2];
        x = {uint32_t(product1 >> 32) ^ x[1] ^ key0, uint32_t(product1),
             uint32_t(product0 >> 32) ^ x[3] ^ key1, uint32_t(product0)};
        key0 += kWeyl0;
        key1 += kWeyl1;
    }
    return x;
}

// Two numbers in [0, 1) of 53 bits.
inline std::array<double, 2> philox_units(uint64_t key, uint64_t counter) {
    const std::array<uint32_t, 4> x = philox_block(key, counter);
    const auto unit = [](uint32_t high, uint32_t low) {
        return double((uint64_t{high} << 32 | low) >> 11) * 0x1p-53;
    };
    return {unit(x[0], x[1]), unit(x[2], x[3])};
}

}  // namespace leat
