// Elements of less than a byte in a row of bits, low bits first, as ONNX's raw_data has them: 2 and
// 4 bits lie in one byte, 6 bits may begin in one and end in the next.
#pragma once

#include <cstddef>
#include <cstdint>

namespace leat {

// Element `index` of `bits` bits, 2, 4 or 6.
inline uint8_t load_packed(int bits, const std::byte* data, int64_t index) {
    const int64_t first = index * bits;
    const int shift = int(first % 8);
    const std::byte* const at = data + first / 8;
    unsigned pair = unsigned(at[0]);
    if (shift + bits > 8) {
        pair |= unsigned(at[1]) << 8;
    }
    return uint8_t(pair >> shift & ((1U << bits) - 1));
}

// Writes the low bits of `code`; the bits around stay.
inline void store_packed(int bits, std::byte* data, int64_t index, uint8_t code) {
    const int64_t first = index * bits;
    const int shift = int(first % 8);
    std::byte* const at = data + first / 8;
    const unsigned mask = ((1U << bits) - 1) << shift;
    const unsigned placed = unsigned(code) << shift & mask;
    at[0] = std::byte((unsigned(at[0]) & ~mask) | placed);
    if (shift + bits > 8) {
        at[1] = std::byte((unsigned(at[1]) & ~(mask >> 8)) | placed >> 8);
    }
}

}  // namespace leat
