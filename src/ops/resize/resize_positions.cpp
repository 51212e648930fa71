// Positions as fractions of 128-bit integers. A region of interest is of any floating numbers: what
// is to be known of positions within one are signs of sums, which are found exactly, too.
#include "ops/resize/resize_positions.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace leat {
namespace {

struct Halves {
    double sum;
    double error;
};
// sum + error is a + b, and a * b, exactly.
Halves exact_sum(double a, double b) {
    const double sum = a + b;
    const double part = sum - a;
    return {sum, (a - (sum - part)) + (b - part)};
}
Halves exact_product(double a, double b) {
    const double product = a * b;
    return {product, std::fma(a, b, -product)};
}

// The sign of a sum of doubles, none of which is lost: partial sums that do not overlap, the
// largest last (Shewchuk, "Adaptive precision floating-point arithmetic", 1997, section 2.4).
class ExactSum {
  public:
    void add(double term) {
        int kept = 0;
        for (int i = 0; i < count_; ++i) {
            const auto [sum, error] = exact_sum(term, parts_[size_t(i)]);
            if (error != 0) {
                parts_[size_t(kept++)] = error;
            }
            term = sum;
        }
        if (term != 0) {
            parts_[size_t(kept++)] = term;
        }
        count_ = kept;
    }
    // Adds factor * integer. Exact for factors of 0 or of magnitude 2^-800 to 2^200.
    void add(double factor, Int128 integer) {
        constexpr int kBits = 53;
        constexpr Int128 kLow = (Int128(1) << kBits) - 1;
        for (const double part :
             {std::ldexp(double(integer >> 2 * kBits), 2 * kBits),
              std::ldexp(double(integer >> kBits & kLow), kBits), double(integer & kLow)}) {
            const auto [product, error] = exact_product(factor, part);
            add(product);
            add(error);
        }
    }
    int sign() const { return count_ == 0 ? 0 : parts_[size_t(count_ - 1)] > 0 ? 1 : -1; }

  private:
    std::array<double, 24> parts_{};  // one for each term at most; three products give 18
    int count_ = 0;
};

int sign_of(Int128 x) {
    return x > 0 ? 1 : x < 0 ? -1 : 0;
}

}  // namespace

ResizeScale ResizeScale::of(float scale) {
    constexpr int kMantissaBits = 24;
    int exponent = 0;
    const auto mantissa = Int128(std::ldexp(std::frexp(scale, &exponent), kMantissaBits));
    exponent -= kMantissaBits;
    return exponent >= 0 ? ResizeScale{mantissa << exponent, 1}
                         : ResizeScale{mantissa, Int128(1) << -exponent};
}

bool operator<(const ResizeScale& a, const ResizeScale& b) {
    return a.numerator * b.denominator < b.numerator * a.denominator;
}

bool ResizeAxis::is_identity() const {
    return x_extent == y_extent && (scale.is_one() || x_extent == 0) && roi_begin == 0 &&
           roi_end == 1;
}

ResizePositions::ResizePositions(const std::string& mode, const ResizeAxis& axis)
    : mode_(mode == "half_pixel_symmetric"   ? Mode::kHalfPixelSymmetric
            : mode == "pytorch_half_pixel"   ? Mode::kPytorchHalfPixel
            : mode == "align_corners"        ? Mode::kAlignCorners
            : mode == "asymmetric"           ? Mode::kAsymmetric
            : mode == "tf_crop_and_resize"   ? Mode::kCrop
            : mode == "tf_half_pixel_for_nn" ? Mode::kHalfPixelForNearest
                                             : Mode::kHalfPixel),
      axis_(axis),
      length_(axis.x_extent * axis.scale.numerator) {}

// With y the index, s the scale p / q, n the extent of x and l = n * s: the formulas of the
// standard, multiplied by what makes both sides whole numbers.
ResizePlace ResizePositions::at(int64_t index) const {
    const Int128 p = axis_.scale.numerator;
    const Int128 q = axis_.scale.denominator;
    const Int128 y = index;
    const bool has_length_one = length_ == q;
    // (y + 1/2) / s - 1/2
    const Int128 half_pixel = (2 * y + 1) * q - p;
    switch (mode_) {
        case Mode::kCrop:
            return cropped_place(index);
        case Mode::kAlignCorners:
            // y * (n - 1) / (l - 1)
            return has_length_one || index == 0
                       ? exact_place(0, 1)
                       : exact_place(y * (axis_.x_extent - 1) * q, length_ - q);
        case Mode::kAsymmetric:
            return exact_place(y * q, p);
        case Mode::kHalfPixelForNearest:
            return exact_place((2 * y + 1) * q, 2 * p);
        case Mode::kPytorchHalfPixel:
            return has_length_one ? exact_place(0, 1) : exact_place(half_pixel, 2 * p);
        case Mode::kHalfPixelSymmetric:
            // Adds n / 2 * (1 - y_extent / l), which centres a result whose length was rounded
            // down.
            return exact_place(half_pixel + length_ - axis_.y_extent * q, 2 * p);
        case Mode::kHalfPixel:
            break;
    }
    return exact_place(half_pixel, 2 * p);
}

// denominator != 0.
ResizePlace ResizePositions::exact_place(Int128 numerator, Int128 denominator) const {
    if (denominator < 0) {
        numerator = -numerator;
        denominator = -denominator;
    }
    Int128 floor = numerator / denominator;
    Int128 rest = numerator % denominator;
    if (rest < 0) {
        --floor;
        rest += denominator;
    }
    ResizePlace place;
    if (rest == 0) {
        place.base = int64_t(floor) - 1;
        return place;
    }
    place.base = int64_t(floor);
    place.ratio = double(rest) / double(denominator);
    place.is_whole = false;
    place.against_half = sign_of(2 * rest - denominator);
    return place;
}

// begin * (n - 1) + y * (end - begin) * (n - 1) / (l - 1); the middle of the region where l is 1.
ResizePlace ResizePositions::cropped_place(int64_t index) const {
    const Int128 last = axis_.x_extent - 1;
    const Int128 q = axis_.scale.denominator;
    const bool has_length_one = length_ == q;
    const Int128 divisor = has_length_one ? 2 : index == 0 ? 1 : length_ - q;
    const Int128 of_end = has_length_one ? last : index == 0 ? 0 : last * index * q;
    const Int128 of_begin = has_length_one ? last : last * divisor - of_end;
    const double begin = axis_.roi_begin;
    const double end = axis_.roi_end;
    constexpr double kFar = 1e50;  // no element is there
    if (!(std::fabs(begin) < kFar && std::fabs(end) < kFar)) {
        return {-1, 1, true, 1, true};
    }
    // The sign of the position less halves / 2.
    const auto against = [&](int64_t halves) {
        ExactSum sum;
        sum.add(begin, 2 * of_begin);
        sum.add(end, 2 * of_end);
        sum.add(-1.0, halves * divisor);
        return divisor > 0 ? sum.sign() : -sum.sign();
    };
    if (against(0) < 0) {
        return {-1, 1, true, 1, true};
    }
    if (against(int64_t(2 * last)) > 0) {
        return {int64_t(last), 1, true, 1, true};
    }
    const double rounded = (begin * double(of_begin) + end * double(of_end)) / double(divisor);
    int64_t floor = std::clamp<int64_t>(int64_t(rounded), 0, int64_t(last));
    while (against(2 * floor) < 0) {
        --floor;
    }
    while (against(2 * floor + 2) >= 0) {
        ++floor;
    }
    ResizePlace place;
    if (against(2 * floor) == 0) {
        place.base = floor - 1;
        return place;
    }
    place.base = floor;
    place.ratio = std::clamp(rounded - double(floor), 0.0, 1.0);
    place.is_whole = false;
    place.against_half = against(2 * floor + 1);
    return place;
}

}  // namespace leat
