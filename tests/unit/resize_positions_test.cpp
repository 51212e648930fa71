// Which element of x nearest mode takes: for every pair of small sizes, and for f32 scales, against
// the standard's formulas in fractions.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "ops/resize/resize.h"

namespace leat {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Indices = std::vector<int64_t>;

// A fraction in lowest terms, its denominator > 0.
struct Fraction {
    Int128 n = 0;
    Int128 d = 1;

    Fraction(Int128 whole) : n(whole) {}  // NOLINT(google-explicit-constructor)
    Fraction(Int128 above, Int128 below) : n(above), d(below) {
        Int128 a = n < 0 ? -n : n;
        Int128 b = d < 0 ? -d : d;
        while (b != 0) {
            a = std::exchange(b, a % b);
        }
        const Int128 divisor = d < 0 ? -a : a;
        n /= divisor;
        d /= divisor;
    }
    static Fraction of(float x) {
        int exponent = 0;
        const auto mantissa = int64_t(std::ldexp(std::frexp(x, &exponent), 24));
        const int shift = exponent - 24;
        return shift >= 0 ? Fraction(Int128(mantissa) << shift)
                          : Fraction(mantissa, Int128(1) << -shift);
    }
    Int128 floor() const { return n >= 0 ? n / d : -((-n + d - 1) / d); }
};
Fraction operator+(Fraction a, Fraction b) {
    return {a.n * b.d + b.n * a.d, a.d * b.d};
}
Fraction operator-(Fraction a, Fraction b) {
    return {a.n * b.d - b.n * a.d, a.d * b.d};
}
Fraction operator*(Fraction a, Fraction b) {
    return {a.n * b.n, a.d * b.d};
}
Fraction operator/(Fraction a, Fraction b) {
    return {a.n * b.d, a.d * b.n};
}
bool operator==(Fraction a, Fraction b) {
    return a.n == b.n && a.d == b.d;
}

struct Axis {
    int64_t x_extent = 1;
    int64_t y_extent = 1;
    Fraction scale = 1;
    float begin = 0;
    float end = 1;
};

// coordinate_transformation_mode of Resize-19, word for word; output_width is input_width * scale.
Fraction x_original(const std::string& mode, const Axis& axis, int64_t x_resized) {
    const Fraction half(1, 2);
    const Fraction length_original = axis.x_extent;
    const Fraction length_resized = length_original * axis.scale;
    const Fraction half_pixel = (Fraction(x_resized) + half) / axis.scale - half;
    if (mode == "half_pixel_symmetric") {
        const Fraction adjustment = Fraction(axis.y_extent) / length_resized;
        const Fraction center = length_original / 2;
        return center * (Fraction(1) - adjustment) + half_pixel;
    }
    if (mode == "pytorch_half_pixel") {
        return length_resized == 1 ? Fraction(0) : half_pixel;
    }
    if (mode == "align_corners") {
        return length_resized == 1
                   ? Fraction(0)
                   : Fraction(x_resized) * (length_original - 1) / (length_resized - 1);
    }
    if (mode == "asymmetric") {
        return Fraction(x_resized) / axis.scale;
    }
    if (mode == "tf_half_pixel_for_nn") {
        return (Fraction(x_resized) + half) / axis.scale;
    }
    if (mode == "tf_crop_and_resize") {
        const Fraction start = Fraction::of(axis.begin);
        const Fraction end = Fraction::of(axis.end);
        return length_resized == 1 ? half * (start + end) * (length_original - 1)
                                   : start * (length_original - 1) +
                                         Fraction(x_resized) * (end - start) *
                                             (length_original - 1) / (length_resized - 1);
    }
    return half_pixel;
}

// nearest_mode; outside of x the nearest element is the first or the last.
int64_t nearest(const std::string& mode, Fraction x, int64_t x_extent) {
    const Int128 below = x.floor();
    const Int128 above = below + (x == Fraction(below) ? 0 : 1);
    const Fraction half = Fraction(below) + Fraction(1, 2);
    const bool is_half = x == half;
    const bool is_less = (x - half).n < 0;
    Int128 index = mode == "ceil" ? above : below;
    if (mode == "round_prefer_floor") {
        index = is_less || is_half ? below : above;
    } else if (mode == "round_prefer_ceil") {
        index = is_less ? below : above;
    }
    return int64_t(std::clamp<Int128>(index, 0, x_extent - 1));
}

NodeData resize_node(const std::string& mode, const std::string& rounding) {
    NodeData node;
    node.name = "r";
    node.op_type = "Resize";
    node.attributes["coordinate_transformation_mode"] = mode;
    node.attributes["nearest_mode"] = rounding;
    return node;
}

constexpr const char* kModes[] = {
    "half_pixel", "half_pixel_symmetric", "pytorch_half_pixel", "align_corners",
    "asymmetric", "tf_half_pixel_for_nn", "tf_crop_and_resize"};
constexpr const char* kRoundings[] = {"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"};

// Every mode and rounding of one axis.
void check_axis(const ResizeAxis& found, const Axis& axis) {
    for (const std::string mode : kModes) {
        for (const std::string rounding : kRoundings) {
            const NodeData node = resize_node(mode, rounding);
            const ResizeTaps taps = resize_taps(node, ResizeMode::kNearest, found);
            Indices expected;
            std::vector<uint8_t> outside;
            for (int64_t i = 0; i < axis.y_extent; ++i) {
                const Fraction x = x_original(mode, axis, i);
                expected.push_back(nearest(rounding, x, axis.x_extent));
                outside.push_back(uint8_t(x.n < 0 || (x - (axis.x_extent - 1)).n > 0));
            }
            ASSERT_EQ(taps.indices, expected)
                << axis.x_extent << " to " << axis.y_extent << ", " << mode << ", " << rounding;
            if (mode == "tf_crop_and_resize") {
                ASSERT_EQ(taps.extrapolated, outside) << axis.x_extent << " to " << axis.y_extent;
            }
        }
    }
}

ResizeAxis axis_by_sizes(int64_t x, int64_t y) {
    const std::vector<int64_t> sizes = {y};
    const std::vector<int64_t> extents = {x};
    ResizeOperands operands;
    operands.sizes = &sizes;
    return resize_axes(resize_node("half_pixel", "floor"), extents, operands).value().front();
}

TEST(ResizePositions, AreExactForEveryPairOfSizes) {
    for (int64_t x = 1; x <= 40; ++x) {
        for (int64_t y = 1; y <= 40; ++y) {
            check_axis(axis_by_sizes(x, y), {x, y, Fraction(y, x)});
        }
    }
}

TEST(ResizePositions, AreExactForLongAxes) {
    for (const auto& [x, y] : std::vector<std::pair<int64_t, int64_t>>{
             {1000, 1800}, {1337, 4000}, {4000, 1333}, {2049, 2047}, {224, 3840}}) {
        check_axis(axis_by_sizes(x, y), {x, y, Fraction(y, x)});
    }
}

TEST(ResizePositions, AreThoseOfTheFloatThatAScaleIs) {
    for (const float scale : {64.0F / 26.0F, 7.0F / 3.0F, 1.0F / 3.0F, 0.1F, 0.6F, 2.5F, 3.0F, 1.1F,
                              0.999F, 18.0F / 14.0F, 1e-3F, 33.3F}) {
        for (int64_t x = 1; x <= 60; ++x) {
            const std::vector<float> scales = {scale};
            const std::vector<int64_t> extents = {x};
            ResizeOperands operands;
            operands.scales = &scales;
            const ResizeAxis found =
                resize_axes(resize_node("half_pixel", "floor"), extents, operands).value().front();
            check_axis(found, {x, found.y_extent, Fraction::of(scale)});
        }
    }
}

TEST(ResizePositions, AreExactWithinRegionsOfInterest) {
    const std::vector<std::pair<float, float>> regions = {
        {0.25F, 0.75F}, {0.4F, 0.6F}, {-0.1F, 1.3F}, {0.9F, 0.2F}, {0.1F, 0.1F}, {-2.0F, -1.0F}};
    for (const auto& [begin, end] : regions) {
        for (int64_t x = 1; x <= 21; ++x) {
            for (int64_t y = 1; y <= 21; ++y) {
                ResizeAxis found = axis_by_sizes(x, y);
                found.roi_begin = begin;
                found.roi_end = end;
                check_axis(found, {x, y, Fraction(y, x), begin, end});
            }
        }
    }
}

Indices indices_of(const std::string& mode, const std::string& rounding, const ResizeAxis& axis) {
    return resize_taps(resize_node(mode, rounding), ResizeMode::kNearest, axis).indices;
}

TEST(ResizePositions, OfWholeNumbersAreNotRoundedBelow) {
    EXPECT_THAT(indices_of("asymmetric", "floor", axis_by_sizes(14, 18)),
                ElementsAre(0, 0, 1, 2, 3, 3, 4, 5, 6, 7, 7, 8, 9, 10, 10, 11, 12, 13));
}

// As onnx's reference evaluator has it, whose doubles are exact where the scale is a power of two.
TEST(ResizePositions, AreThoseOfTheReferenceEvaluator) {
    const ResizeAxis half = axis_by_sizes(8, 4);
    EXPECT_THAT(indices_of("half_pixel", "round_prefer_floor", half), ElementsAre(0, 2, 4, 6));
    EXPECT_THAT(indices_of("half_pixel", "round_prefer_ceil", half), ElementsAre(1, 3, 5, 7));
    EXPECT_THAT(indices_of("asymmetric", "ceil", axis_by_sizes(3, 6)),
                ElementsAre(0, 1, 1, 2, 2, 2));
    EXPECT_THAT(indices_of("half_pixel", "floor", axis_by_sizes(3, 6)),
                ElementsAre(0, 0, 0, 1, 1, 2));
    EXPECT_THAT(indices_of("align_corners", "round_prefer_ceil", axis_by_sizes(4, 7)),
                ElementsAre(0, 1, 1, 2, 2, 3, 3));
}

// Neither rounding nor its absence hides how little a position is above a whole number.
TEST(ResizePositions, SeeTheSmallestRegions) {
    ResizeAxis axis = axis_by_sizes(3, 3);
    axis.roi_begin = 1e-20F;
    EXPECT_THAT(indices_of("tf_crop_and_resize", "floor", axis), ElementsAre(0, 1, 2));
    EXPECT_THAT(indices_of("tf_crop_and_resize", "ceil", axis), ElementsAre(1, 2, 2));
    axis.roi_begin = -1e-20F;
    const ResizeTaps taps =
        resize_taps(resize_node("tf_crop_and_resize", "ceil"), ResizeMode::kNearest, axis);
    EXPECT_THAT(taps.extrapolated, ElementsAre(1, 0, 0));
}

TEST(ResizeExtents, KeepTheAspectRatioExactly) {
    NodeData node = resize_node("half_pixel", "floor");
    node.attributes["keep_aspect_ratio_policy"] = std::string("not_larger");
    const std::vector<int64_t> extents = {6, 9, 3};
    const std::vector<int64_t> sizes = {5, 20, 20};
    ResizeOperands operands;
    operands.sizes = &sizes;
    const auto axes = resize_axes(node, extents, operands).value();
    // 9 * 5 / 6 is 7 1/2, which is rounded up; so is 3 * 5 / 6.
    EXPECT_EQ(axes[1].y_extent, 8);
    EXPECT_EQ(axes[2].y_extent, 3);
    check_axis(axes[1], {9, 8, Fraction(5, 6)});
}

TEST(ResizeExtents, OfLongAxesLoseNoElement) {
    const std::vector<float> scales = {1.0F, 2.0F};
    const std::vector<int64_t> extents = {16777217, 16777219};
    ResizeOperands operands;
    operands.scales = &scales;
    const auto axes = resize_axes(resize_node("half_pixel", "floor"), extents, operands).value();
    EXPECT_EQ(axes[0].y_extent, 16777217);
    EXPECT_EQ(axes[1].y_extent, 33554438);
}

TEST(ResizeExtents, BeyondEveryMemoryAreErrors) {
    const std::vector<int64_t> extents = {6};
    const std::vector<int64_t> sizes = {INT64_MAX};
    const std::vector<float> scales = {1e30F};
    const NodeData node = resize_node("half_pixel", "floor");
    ResizeOperands operands;
    operands.sizes = &sizes;
    EXPECT_THAT(resize_axes(node, extents, operands).error().message(), HasSubstr("2^31"));
    operands.sizes = nullptr;
    operands.scales = &scales;
    EXPECT_THAT(resize_axes(node, extents, operands).error().message(), HasSubstr("2^31"));
}

}  // namespace
}  // namespace leat
