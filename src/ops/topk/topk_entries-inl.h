// Candidates of TopK: elements as numbers in the order of the elements, with their indices; how
// they are sorted, and a bound that k of them reach. Included once for each target.
#if defined(LEAT_TOPK_ENTRIES_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef LEAT_TOPK_ENTRIES_INL_H
#undef LEAT_TOPK_ENTRIES_INL_H
#else
#define LEAT_TOPK_ENTRIES_INL_H
#endif

#include <algorithm>
#include <bit>
#include <cstdint>
#include <limits>
#include <type_traits>
#include <utility>

#include "hwy/highway.h"
#include "ops/element.h"

HWY_BEFORE_NAMESPACE();
namespace leat {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// An element as a number of its size, or of 32 bits, that is the larger the better it is.
template <class T>
using TopkScore = std::conditional_t<sizeof(T) == 8, int64_t, int32_t>;

// Bits of floats in the order of the floats; zeros of both signs are one. The inverse of itself but
// for that.
HWY_INLINE int32_t float_order(int32_t bits) {
    return bits ^ ((bits >> 31) & std::numeric_limits<int32_t>::max());
}
HWY_INLINE int64_t float_order(int64_t bits) {
    return bits ^ ((bits >> 63) & std::numeric_limits<int64_t>::max());
}

// The same of a floating-point element, whatever its bits: they are a sign and a magnitude.
template <class T>
HWY_INLINE TopkScore<T> order_of(T element) {
    using Int = TopkScore<T>;
    // Not the largest number, so that a bound above all elements exists.
    constexpr Int kOfNan = std::numeric_limits<Int>::max() - 1;
    if constexpr (kIsHalf<T>) {
        const Int infinity = type_limit<T>(false).bits;
        const Int magnitude = element.bits & 0x7fff;
        const Int order = (element.bits & 0x8000) != 0 ? -magnitude : magnitude;
        return magnitude > infinity ? kOfNan : order;
    } else {
        return element != element ? kOfNan : float_order(std::bit_cast<Int>(element + 0));
    }
}

template <bool kLargest, class T>
HWY_INLINE TopkScore<T> score_of(T element) {
    TopkScore<T> score = 0;
    if constexpr (std::is_integral_v<T>) {
        score = TopkScore<T>(element);  // NOLINT(bugprone-signed-char-misuse): a number
        if constexpr (std::is_unsigned_v<T> && sizeof(T) >= 4) {
            score ^= std::numeric_limits<TopkScore<T>>::min();
        }
    } else {
        score = order_of(element);
    }
    return kLargest ? score : ~score;
}

// A candidate: the smaller the better, and by its index among equals. The upper bits are those of
// the score in reverse, the lower ones are the index.
__extension__ using TopkWideEntry = unsigned __int128;
template <class Int>
using TopkEntry = std::conditional_t<sizeof(Int) == 8, TopkWideEntry, uint64_t>;
template <class Int>
using TopkKey = std::make_unsigned_t<Int>;

template <class Int>
HWY_INLINE TopkEntry<Int> entry_of(Int score, int64_t index) {
    constexpr auto kMax = TopkKey<Int>(std::numeric_limits<Int>::max());
    return TopkEntry<Int>(TopkKey<Int>(score) ^ kMax) << 32 | TopkEntry<Int>(uint32_t(index));
}
template <class Int>
HWY_INLINE Int score_of_entry(TopkEntry<Int> entry) {
    constexpr auto kMax = TopkKey<Int>(std::numeric_limits<Int>::max());
    return Int(TopkKey<Int>(entry >> 32) ^ kMax);
}

// Highway 1.0.3 has no Ge for integers.
template <class V>
HWY_INLINE auto is_at_least(V x, V bound) {
    if constexpr (hwy::IsFloat<hn::TFromV<V>>()) {
        return hn::Ge(x, bound);
    } else {
        return hn::Not(hn::Lt(x, bound));
    }
}

// Sorts by the bits of the scores only, and keeps the order of equal ones. Returns `entries` or
// `room`, whichever holds the result.
template <class Int>
HWY_NOINLINE TopkEntry<Int>* sort_by_digits(TopkEntry<Int>* entries,
                                            TopkEntry<Int>* room,
                                            int64_t count) {
    constexpr int kDigits = int(sizeof(Int));
    uint32_t begins[kDigits][256] = {};
    for (int64_t i = 0; i < count; ++i) {
        const auto key = TopkKey<Int>(entries[i] >> 32);
#pragma GCC unroll 8
        for (int digit = 0; digit < kDigits; ++digit) {
            ++begins[digit][uint8_t(key >> (8 * digit))];
        }
    }
    for (int digit = 0; digit < kDigits; ++digit) {
        uint32_t* begin = begins[digit];
        const auto of_first = uint8_t(TopkKey<Int>(entries[0] >> 32) >> (8 * digit));
        if (begin[of_first] == uint32_t(count)) {
            continue;  // all have this digit
        }
        uint32_t sum = 0;
        for (int value = 0; value < 256; ++value) {
            sum += std::exchange(begin[value], sum);
        }
        for (int64_t i = 0; i < count; ++i) {
            const auto key = TopkKey<Int>(entries[i] >> 32);
            room[begin[uint8_t(key >> (8 * digit))]++] = entries[i];
        }
        std::swap(entries, room);
    }
    return entries;
}

// Puts each entry where as many better ones are before it: no branch depends on the entries. They
// are followed by room for a vector.
constexpr int64_t kRankLanes = int64_t(hn::MaxLanes(hn::ScalableTag<uint64_t>()));
inline const uint64_t* sort_by_ranks(const uint64_t* entries, uint64_t* room, int64_t count) {
    const hn::ScalableTag<uint64_t> tag;
    HWY_ALIGN uint64_t ranks[kRankLanes];
    for (int64_t i = 0; i < count; i += kRankLanes) {
        const auto own = hn::Load(tag, entries + i);
        auto better = hn::Zero(tag);
        for (int64_t j = 0; j < count; ++j) {
            const auto is_better = hn::Lt(hn::Set(tag, entries[j]), own);
            better = hn::Sub(better, hn::VecFromMask(tag, is_better));
        }
        hn::Store(better, tag, ranks);
        const int64_t lanes = std::min(kRankLanes, count - i);
        for (int64_t lane = 0; lane < lanes; ++lane) {
            room[ranks[lane]] = entries[i + lane];
        }
    }
    return room;
}

// `entries` are in the order of their indices.
template <class Int>
const TopkEntry<Int>* sort_entries(TopkEntry<Int>* entries, TopkEntry<Int>* room, int64_t count) {
    // Up to here the tables of digits cost more than comparisons do (docs/measurements/topk.md).
    constexpr int64_t kFewRanked = std::min<int64_t>(128, 32 * kRankLanes);
    constexpr int64_t kFewWide = 48;
    if (count > (sizeof(Int) == 4 ? kFewRanked : kFewWide)) {
        return sort_by_digits<Int>(entries, room, count);
    }
    if constexpr (sizeof(Int) == 4) {
        return count == 1 ? entries : sort_by_ranks(entries, room, count);
    } else {
        std::sort(entries, entries + count);
        return entries;
    }
}

// How many of the scores, a multiple of a vector, are at least `bound`.
template <class Int>
int64_t count_from(const Int* scores, int64_t count, Int bound) {
    const hn::ScalableTag<Int> tag;
    const auto least = hn::Set(tag, bound);
    auto reached = hn::Zero(tag);
    for (int64_t i = 0; i < count; i += int64_t(hn::Lanes(tag))) {
        const auto mask = is_at_least(hn::Load(tag, scores + i), least);
        reached = hn::Sub(reached, hn::VecFromMask(tag, mask));
    }
    return int64_t(hn::GetLane(hn::SumOfLanes(tag, reached)));
}

// A bound that at least k of the scores reach, and not many more.
template <class Int>
Int common_bound(const Int* scores, int64_t count, int64_t k) {
    using Unsigned = std::make_unsigned_t<Int>;
    Int high = *std::max_element(scores, scores + count);
    Int low = *std::min_element(scores, scores + count);
    int64_t reached = count;
    // An eighth more is as good: to halve the range again costs more than to sort them.
    while (low < high && reached > k + k / 8) {
        const Unsigned range = Unsigned(high) - Unsigned(low);
        const Int middle = Int(Unsigned(low) + range / 2 + range % 2);
        const int64_t found = count_from(scores, count, middle);
        if (found >= k) {
            low = middle;
            reached = found;
        } else {
            high = middle - 1;
        }
    }
    return low;
}

}  // namespace HWY_NAMESPACE
}  // namespace leat
HWY_AFTER_NAMESPACE();

#endif  // LEAT_TOPK_ENTRIES_INL_H
