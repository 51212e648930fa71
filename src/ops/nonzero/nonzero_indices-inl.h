// NonzeroIndices: from a bit for each element to the indices of those that are set. Included once
// for each target of Highway, as the better ones count and find bits with an instruction.
#if defined(LEAT_NONZERO_INDICES_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef LEAT_NONZERO_INDICES_INL_H
#undef LEAT_NONZERO_INDICES_INL_H
#else
#define LEAT_NONZERO_INDICES_INL_H
#endif

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>

#include "hwy/highway.h"
#include "leat/shape.h"

HWY_BEFORE_NAMESPACE();
namespace leat {
namespace HWY_NAMESPACE {

class NonzeroIndices {
  public:
    // words: the bits of the elements in row-major order, zeros behind the last one. y: the result
    // [rank, count]. Precondition: `count` > 0 bits are set.
    NonzeroIndices(const uint64_t* words, const Shape& shape, int64_t count, int64_t* y)
        : words_(words), count_(count) {
        for (int axis = 0; axis < shape.rank(); ++axis) {
            int64_t* const row = y + axis * count;
            if (shape[axis] == 1) {
                std::fill_n(row, count, int64_t{0});
            } else {
                rows_[size_t(axes_)] = row;
                extents_[size_t(axes_)] = shape[axis];
                ++axes_;
            }
        }
    }

    void write() {
        if (axes_ == 0) {
            return;
        }
        int64_t lines = 1;
        for (int axis = 0; axis + 1 < axes_; ++axis) {
            lines *= extents_[size_t(axis)];
        }
        const int64_t length = extents_[size_t(axes_ - 1)];
        // A line costs as much as some of its indices: where there are few, each is found for
        // itself, as far as 32 bits count.
        constexpr int64_t kFewOfALine = 4;
        constexpr int64_t kMostElements = int64_t{1} << 32;
        if (axes_ > 1 && count_ / lines < kFewOfALine && lines <= kMostElements / length) {
            write_each(divide_up_words(lines * length));
        } else {
            write_lines(lines, length);
        }
    }

  private:
    __extension__ using Product = unsigned __int128;

    static int64_t divide_up_words(int64_t bits) { return (bits + 63) / 64; }

    void write_lines(int64_t lines, int64_t length) {
        for (int64_t line = 0; line < lines; ++line, advance()) {
            const int64_t before = written_;
            write_line(line * length, length);
            for (int axis = 0; axis + 1 < axes_ && written_ > before; ++axis) {
                std::fill_n(rows_[size_t(axis)] + before, written_ - before, index_[size_t(axis)]);
            }
        }
    }

    void write_each(int64_t words) {
        // The upper half of i * reciprocal is i / extent, rounded down: the reciprocal is too large
        // by a part of 2^64 at most, which makes the quotient too large by less than 2^-32, and
        // more than that is missing to the next whole number.
        std::array<uint64_t, kMaxRank> reciprocals{};
        for (int axis = 1; axis < axes_; ++axis) {
            reciprocals[size_t(axis)] = ~uint64_t{0} / uint64_t(extents_[size_t(axis)]) + 1;
        }
        for (int64_t word = 0; word < words; ++word) {
            for (uint64_t bits = words_[word]; bits != 0; bits &= bits - 1, ++written_) {
                uint64_t rest = uint64_t(word * 64 + std::countr_zero(bits));
                for (int axis = axes_ - 1; axis > 0; --axis) {
                    const auto a = size_t(axis);
                    const auto line = uint64_t(Product(rest) * reciprocals[a] >> 64);
                    rows_[a][written_] = int64_t(rest - line * uint64_t(extents_[a]));
                    rest = line;
                }
                rows_[0][written_] = int64_t(rest);
            }
        }
    }

    void advance() {
        for (int axis = axes_ - 2; axis >= 0; --axis) {
            if (++index_[size_t(axis)] < extents_[size_t(axis)]) {
                return;
            }
            index_[size_t(axis)] = 0;
        }
    }

    // Up to 64 bits from `bit` on, the first one lowest.
    uint64_t bits_at(int64_t bit, int64_t length) const {
        const int64_t shift = bit % 64;
        uint64_t bits = words_[bit / 64] >> shift;
        if (shift + length > 64) {
            bits |= words_[bit / 64 + 1] << (64 - shift);
        }
        return length < 64 ? bits & ((uint64_t{1} << length) - 1) : bits;
    }

    // Indices of the last axis.
    void write_line(int64_t first, int64_t length) {
        for (int64_t at = 0; at < length; at += 64) {
            const uint64_t bits = bits_at(first + at, std::min<int64_t>(64, length - at));
            if (bits != 0) {
                write_bits(bits, at);
            }
        }
    }

    // In fours, without a branch for each: what is written too much is written anew, or not at all
    // at the end of the row.
    void write_bits(uint64_t bits, int64_t at) {
        constexpr int64_t kGroup = 4;
        int64_t* to = rows_[size_t(axes_ - 1)] + written_;
        const int64_t count = std::popcount(bits);
        if (written_ + (count + kGroup - 1) / kGroup * kGroup > count_) {
            for (; bits != 0; bits &= bits - 1) {
                *to++ = at + std::countr_zero(bits);
            }
        } else {
            for (int64_t i = 0; i < count; i += kGroup, to += kGroup) {
                for (int64_t k = 0; k < kGroup; ++k) {
                    to[k] = at + std::countr_zero(bits);
                    bits &= bits - 1;
                }
            }
        }
        written_ += count;
    }

    const uint64_t* words_;
    int64_t count_;
    int64_t written_ = 0;
    // Axes of one index are left out.
    int axes_ = 0;
    std::array<int64_t*, kMaxRank> rows_{};
    std::array<int64_t, kMaxRank> extents_{};
    std::array<int64_t, kMaxRank> index_{};
};

}  // namespace HWY_NAMESPACE
}  // namespace leat
HWY_AFTER_NAMESPACE();

#endif  // LEAT_NONZERO_INDICES_INL_H
