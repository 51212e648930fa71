// Where along x an element of y lies: exact arithmetic, so that a position that is a whole number,
// or half way between two, is found as such.
#pragma once

#include <cstdint>
#include <string>

namespace leat {

__extension__ using Int128 = __int128;

// What an extent is multiplied by: a quotient of sizes, or an f32, which is a quotient as well.
struct ResizeScale {
    Int128 numerator = 1;    // >= 0
    Int128 denominator = 1;  // > 0

    // Precondition: 2^-100 <= scale < 2^100.
    static ResizeScale of(float scale);
    bool is_one() const { return numerator == denominator; }
    double value() const { return double(numerator) / double(denominator); }
};
bool operator<(const ResizeScale& a, const ResizeScale& b);

// Axes that are resized have fewer elements, before and after: kernels have tables of the result's,
// and products of two extents and a part of the scale fit in 128 bits.
inline constexpr int64_t kMaxResizeExtent = int64_t{1} << 31;

// One axis: its scale, and the part of x that it samples (tf_crop_and_resize).
struct ResizeAxis {
    int64_t x_extent = 1;
    int64_t y_extent = 1;
    ResizeScale scale;
    double roi_begin = 0;
    double roi_end = 1;

    // True if y takes x as it is.
    bool is_identity() const;
};

// A place on the axis of x: base + ratio, 0 < ratio <= 1.
struct ResizePlace {
    int64_t base = 0;
    double ratio = 1;         // rounded
    bool is_whole = true;     // the ratio is 1
    int against_half = 1;     // the sign of ratio - 1/2
    bool is_outside = false;  // of x, where the axis is cropped
};

// Places by index of y for one value of coordinate_transformation_mode. Precondition: x_extent >=
// 1, and both extents are below kMaxResizeExtent. No allocation; safe to call concurrently.
class ResizePositions {
  public:
    ResizePositions(const std::string& mode, const ResizeAxis& axis);

    // 0 <= index < y_extent.
    ResizePlace at(int64_t index) const;

  private:
    enum class Mode : uint8_t {
        kHalfPixel,
        kHalfPixelSymmetric,
        kPytorchHalfPixel,
        kAlignCorners,
        kAsymmetric,
        kCrop,
        kHalfPixelForNearest,
    };
    ResizePlace exact_place(Int128 numerator, Int128 denominator) const;
    ResizePlace cropped_place(int64_t index) const;

    Mode mode_;
    ResizeAxis axis_;
    Int128 length_;  // x_extent * scale, times the scale's denominator
};

}  // namespace leat
