// Sorting without memory of its own, for kernels.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace leat {

// An unsigned number to sort by, and which element has it.
template <class Rank>
struct RankedIndex {
    Rank rank;
    uint32_t index;
};

// Entries in ascending order of their ranks, equal ones in that of their indices: in `entries` or
// in `room` for as many. Precondition: they stand in the order of their indices, and are fewer than
// 2^32.
template <class Rank>
RankedIndex<Rank>* sort_ranked(RankedIndex<Rank>* entries, RankedIndex<Rank>* room, int64_t count) {
    using Entry = RankedIndex<Rank>;
    constexpr int kDigitBits = 11;
    constexpr int64_t kFewEntries = 128;
    if (count <= kFewEntries) {
        std::sort(entries, entries + count, [](const Entry& a, const Entry& b) {
            return a.rank != b.rank ? a.rank < b.rank : a.index < b.index;
        });
        return entries;
    }
    Rank least = entries[0].rank;
    Rank most = least;
    for (int64_t i = 1; i < count; ++i) {
        least = std::min(least, entries[i].rank);
        most = std::max(most, entries[i].rank);
    }
    const int bits = int(std::bit_width(Rank(most - least)));
    for (int shift = 0; shift < bits; shift += kDigitBits) {
        const auto digit_of = [&](const Entry& entry) {
            return size_t(Rank(entry.rank - least) >> shift) & ((size_t{1} << kDigitBits) - 1);
        };
        std::array<uint32_t, size_t{1} << kDigitBits> places{};
        for (int64_t i = 0; i < count; ++i) {
            ++places[digit_of(entries[i])];
        }
        uint32_t place = 0;
        for (uint32_t& first : places) {
            first = std::exchange(place, place + first);
        }
        for (int64_t i = 0; i < count; ++i) {
            room[places[digit_of(entries[i])]++] = entries[i];
        }
        std::swap(entries, room);
    }
    return entries;
}

}  // namespace leat
