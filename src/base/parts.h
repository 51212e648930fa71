// Dividing an extent into nearly equal parts: the first ones have an element more.
#pragma once

#include <algorithm>
#include <cstdint>

namespace leat {

// Begin of part `index` in [0, parts] of `extent` elements.
constexpr int64_t part_begin(int64_t extent, int64_t parts, int64_t index) {
    return extent / parts * index + std::min(index, extent % parts);
}
// The part that `position` in [0, extent) lies in. Precondition: no part is empty.
constexpr int64_t part_at(int64_t extent, int64_t parts, int64_t position) {
    const int64_t least = extent / parts;
    const int64_t larger = extent % parts;  // the first ones have an element more
    const int64_t in_larger = larger * (least + 1);
    return position < in_larger ? position / (least + 1) : larger + (position - in_larger) / least;
}

}  // namespace leat
