// ByteRange: some bytes of a memory, half-open.
#pragma once

#include <cstdint>

namespace leat {

struct ByteRange {
    int64_t begin = 0;
    int64_t end = 0;

    bool meets(const ByteRange& other) const {
        return begin < other.end && other.begin < end && begin < end && other.begin < other.end;
    }
    friend bool operator==(const ByteRange&, const ByteRange&) = default;
};

}  // namespace leat
