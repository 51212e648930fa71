#include "memory/content_hash.h"

#include <cstring>

#include "base/split_mix.h"

namespace leat {
namespace {

// Odd numbers without a pattern: digits of the golden ratio, sqrt(2), sqrt(3) and sqrt(5).
constexpr uint64_t kKeys[] = {0x9e3779b97f4a7c15, 0x6a09e667f3bcc909, 0xbb67ae8584caa73b,
                              0x3c6ef372fe94f82b};

uint64_t word_at(const std::byte* bytes) {
    uint64_t word = 0;
    std::memcpy(&word, bytes, sizeof word);
    return word;
}

// Both halves of the product: every bit of the result depends on most bits of both factors.
uint64_t folded_product(uint64_t a, uint64_t b) {
    const unsigned __int128 product = static_cast<unsigned __int128>(a) * b;
    return uint64_t(product) ^ uint64_t(product >> 64);
}

}  // namespace

uint64_t content_hash(std::span<const std::byte> bytes) {
    constexpr size_t kBlock = 32;
    uint64_t first = kKeys[0];
    uint64_t second = kKeys[1];
    const auto add = [&](const std::byte* at) {
        first = folded_product(first ^ word_at(at), word_at(at + 8) ^ kKeys[2]);
        second = folded_product(second ^ word_at(at + 16), word_at(at + 24) ^ kKeys[3]);
    };
    size_t offset = 0;
    for (; offset + kBlock <= bytes.size(); offset += kBlock) {
        add(bytes.data() + offset);
    }
    if (offset < bytes.size()) {
        std::byte rest[kBlock] = {};
        std::memcpy(rest, bytes.data() + offset, bytes.size() - offset);
        add(rest);
    }
    return mixed(first + mixed(second + mixed(bytes.size())));
}

}  // namespace leat
