// Shape: the extents of a tensor, rank 0 to kMaxRank, without allocation.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>

#include "leat/export.h"

namespace leat {

inline constexpr int kMaxRank = 8;

// Extents in elements, outermost first. Extents are >= 0; a zero extent makes an empty tensor.
class LEAT_API Shape {
  public:
    Shape() = default;
    Shape(std::initializer_list<int64_t> extents)
        : Shape(std::span<const int64_t>(extents.begin(), extents.size())) {}
    // Precondition: extents.size() <= kMaxRank. Input from outside goes through make().
    explicit Shape(std::span<const int64_t> extents);

    // nullopt when the rank exceeds kMaxRank, an extent is negative or the element count overflows.
    static std::optional<Shape> make(std::span<const int64_t> extents);

    int rank() const { return rank_; }
    int64_t operator[](int axis) const { return extents_[size_t(axis)]; }
    int64_t& operator[](int axis) { return extents_[size_t(axis)]; }
    const int64_t* begin() const { return extents_.data(); }
    const int64_t* end() const { return extents_.data() + rank_; }
    std::span<const int64_t> extents() const { return {extents_.data(), size_t(rank_)}; }
    void append(int64_t extent) { extents_[size_t(rank_++)] = extent; }

    // Product of all extents, 1 for rank 0. Only valid shapes have one that fits.
    int64_t element_count() const;
    // Product over [begin, end) axes; 1 for an empty range.
    int64_t element_count(int begin_axis, int end_axis) const;

    friend bool operator==(const Shape& a, const Shape& b) {
        return a.rank_ == b.rank_ && a.extents_ == b.extents_;
    }

    // "1x3x224x224"; "scalar" for rank 0.
    std::string to_string() const;

  private:
    std::array<int64_t, kMaxRank> extents_{};  // 0 from rank_ on, for operator==
    int rank_ = 0;
};

}  // namespace leat
