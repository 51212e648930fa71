#include "backends/queues/transfer.h"

#include <fmt/core.h>

#include <cstring>

namespace leat::queues {

void check_copy(const LeatCopy& copy) {
    if (copy.bytes < 0) {
        plugin::invalid_argument("a copy of less than no bytes");
    }
}

void check_fill(const LeatFill& fill) {
    const bool is_unit = fill.pattern_bytes == 1 || fill.pattern_bytes == 2 ||
                         fill.pattern_bytes == 4 || fill.pattern_bytes == 8;
    if (!is_unit || fill.bytes < 0 || fill.bytes % fill.pattern_bytes != 0) {
        plugin::invalid_argument(fmt::format(
            "a fill of {} bytes with a pattern of {}: needed 1, 2, 4 or 8, and a whole number",
            fill.bytes, fill.pattern_bytes));
    }
}

void check_range(int64_t offset_bytes, int64_t bytes, int64_t slab_bytes) {
    if (offset_bytes < 0 || bytes < 0 || bytes > slab_bytes || offset_bytes > slab_bytes - bytes) {
        plugin::invalid_argument(fmt::format("range of {} bytes at {} of a slab of {} bytes", bytes,
                                             offset_bytes, slab_bytes));
    }
}

// Eight bytes of the pattern repeat too, whatever its size.
void fill_bytes(std::byte* to, int64_t bytes, const LeatFill& fill) {
    std::byte given[sizeof(fill.pattern)];
    std::byte unit[sizeof(fill.pattern)];
    std::memcpy(given, &fill.pattern, sizeof(given));
    for (size_t i = 0; i < sizeof(unit); ++i) {
        unit[i] = given[i % size_t(fill.pattern_bytes)];
    }
    int64_t at = 0;
    for (; at + int64_t(sizeof(unit)) <= bytes; at += int64_t(sizeof(unit))) {
        std::memcpy(to + at, unit, sizeof(unit));
    }
    std::memcpy(to + at, unit, size_t(bytes - at));
}

}  // namespace leat::queues
