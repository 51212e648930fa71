// SHA-256 (FIPS 180-4): the name of a model file that does not depend on where it lies.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "leat/status.h"

namespace leat::bench {

class Sha256 {
  public:
    void add(std::string_view bytes);
    // 64 lower-case hexadecimal digits of all that was added. Ends the message: add nothing after.
    std::string hex();

  private:
    void add_block(const char* block);

    std::array<uint32_t, 8> state_{0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                   0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
    std::string pending_;  // the begin of a block: fewer than 64 bytes
    uint64_t length_bytes_ = 0;
};

// Reads the file in pieces: models may be larger than memory. Errors: not_found.
Result<std::string> sha256_of_file(const std::filesystem::path& file);

}  // namespace leat::bench
