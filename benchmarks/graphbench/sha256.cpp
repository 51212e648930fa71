#include "sha256.h"

#include <fmt/core.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <vector>

#include "base/error.h"

namespace leat::bench {
namespace {

constexpr size_t kBlockBytes = 64;

// FIPS 180-4, section 4.2.2: the first 32 bits of the fractional parts of the cube roots of the
// first 64 primes.
constexpr std::array<uint32_t, 64> kRoundConstants = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

}  // namespace

// Section 6.2.2.
void Sha256::add_block(const char* block) {
    std::array<uint32_t, 64> w{};
    for (size_t t = 0; t < w.size(); ++t) {
        if (t < 16) {
            for (size_t byte = 0; byte < 4; ++byte) {
                w[t] = w[t] << 8 | uint8_t(block[4 * t + byte]);
            }
            continue;
        }
        const uint32_t s0 = std::rotr(w[t - 15], 7) ^ std::rotr(w[t - 15], 18) ^ w[t - 15] >> 3;
        const uint32_t s1 = std::rotr(w[t - 2], 17) ^ std::rotr(w[t - 2], 19) ^ w[t - 2] >> 10;
        w[t] = w[t - 16] + s0 + w[t - 7] + s1;
    }
    auto [a, b, c, d, e, f, g, h] = state_;
    for (size_t t = 0; t < w.size(); ++t) {
        const uint32_t s1 = std::rotr(e, 6) ^ std::rotr(e, 11) ^ std::rotr(e, 25);
        const uint32_t t1 = h + s1 + ((e & f) ^ (~e & g)) + kRoundConstants[t] + w[t];
        const uint32_t s0 = std::rotr(a, 2) ^ std::rotr(a, 13) ^ std::rotr(a, 22);
        const uint32_t t2 = s0 + ((a & b) ^ (a & c) ^ (b & c));
        h = g;
        g = f;
        f = e;
        e = d + t1;
        d = c;
        c = b;
        b = a;
        a = t1 + t2;
    }
    const std::array<uint32_t, 8> round{a, b, c, d, e, f, g, h};
    for (size_t i = 0; i < state_.size(); ++i) {
        state_[i] += round[i];
    }
}

void Sha256::add(std::string_view bytes) {
    length_bytes_ += bytes.size();
    if (!pending_.empty()) {
        const size_t taken = std::min(bytes.size(), kBlockBytes - pending_.size());
        pending_ += bytes.substr(0, taken);
        bytes.remove_prefix(taken);
        if (pending_.size() < kBlockBytes) {
            return;
        }
        add_block(pending_.data());
        pending_.clear();
    }
    for (; bytes.size() >= kBlockBytes; bytes.remove_prefix(kBlockBytes)) {
        add_block(bytes.data());
    }
    pending_ = bytes;
}

std::string Sha256::hex() {
    // Section 5.1.1: a one bit, zeros up to 8 bytes before the end of a block, the length in bits.
    const uint64_t length_bits = length_bytes_ * 8;
    std::string padding(1, '\x80');
    padding.append((2 * kBlockBytes - 8 - 1 - pending_.size()) % kBlockBytes, '\0');
    for (int shift = 56; shift >= 0; shift -= 8) {
        padding += char(uint8_t(length_bits >> shift));
    }
    add(padding);
    std::string text;
    for (const uint32_t word : state_) {
        text += fmt::format("{:08x}", word);
    }
    return text;
}

Result<std::string> sha256_of_file(const std::filesystem::path& file) {
    std::ifstream stream(file, std::ios::binary);
    Sha256 sum;
    std::vector<char> piece(size_t{1} << 16);
    while (stream) {
        stream.read(piece.data(), std::streamsize(piece.size()));
        sum.add({piece.data(), size_t(stream.gcount())});
    }
    if (!stream.eof()) {
        return not_found("cannot read '{}': {}", file.string(), std::strerror(errno));
    }
    return sum.hex();
}

}  // namespace leat::bench
