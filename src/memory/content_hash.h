// A number that equal bytes share and other bytes hardly ever do. Not for secrets: whoever needs to
// be sure compares the bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace leat {

// Reads 32 bytes a step; the same on every machine of one byte order.
uint64_t content_hash(std::span<const std::byte> bytes);

}  // namespace leat
