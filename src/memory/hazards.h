// Which steps must wait for which, from the bytes that they read and write.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/byte_range.h"

namespace leat {

// Ranges of different memories must be given different addresses.
struct StepAccess {
    std::vector<ByteRange> reads;
    std::vector<ByteRange> writes;
};

// For each step the earlier steps whose end it must wait for: those that wrote what it reads (read
// after write), and that read or wrote what it writes (write after read, write after write), where
// no step in between makes the wait superfluous by writing the same bytes. Ascending, each once.
// This is what makes memory that a plan shares safe for steps that run at the same time.
std::vector<std::vector<int32_t>> hazard_waits(std::span<const StepAccess> steps);

}  // namespace leat
