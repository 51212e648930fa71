// What copies and fills have alike on every device.
#pragma once

#include <cstddef>
#include <cstdint>

#include "leat/plugin_backend.h"

namespace leat::queues {

// Throw for sizes that are none, and for patterns that are not 1, 2, 4 or 8 bytes or do not fit
// the range a whole number of times.
void check_copy(const LeatCopy& copy);
void check_fill(const LeatFill& fill);

// Throws kLeatInvalidArgument unless [offset, offset + bytes) lies inside the slab.
void check_range(int64_t offset_bytes, int64_t bytes, int64_t slab_bytes);

// `bytes` bytes of the fill's pattern.
void fill_bytes(std::byte* to, int64_t bytes, const LeatFill& fill);

}  // namespace leat::queues
