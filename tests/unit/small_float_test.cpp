// The 8-bit floating types against ml_dtypes and the reference evaluator of onnx, whose results are
// here as hashes (small_float_hashes.py), and f8e8m0 against the standard's table.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <vector>

#include "ops/elementwise/element_access.h"

namespace leat {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

using Round = NarrowOptions::Round;

// 64-bit FNV-1a.
class Hash {
  public:
    void add(uint8_t byte) { value_ = (value_ ^ byte) * 1099511628211U; }
    uint64_t value() const { return value_; }

  private:
    uint64_t value_ = 14695981039346656037U;
};

// Of all codes as f32; every NaN is the same one.
uint64_t decoded_hash(DType dtype) {
    Hash hash;
    for (int code = 0; code < 256; ++code) {
        const auto number = float(decode_small_float(dtype, uint8_t(code)));
        const uint32_t bits = std::isnan(number) ? 0x7fc00000U : std::bit_cast<uint32_t>(number);
        for (int i = 0; i < 4; ++i) {
            hash.add(uint8_t(bits >> (8 * i)));
        }
    }
    return hash.value();
}

// Every f32 whose low 16 bits are 0, 1 or all ones: all numbers of these types, all that lies half
// way between two, and the next above and below.
std::vector<float> numbers_around_steps() {
    std::vector<float> numbers;
    for (uint32_t high = 0; high < 65536; ++high) {
        for (const uint32_t low : {0U, 1U, 0xffffU}) {
            numbers.push_back(std::bit_cast<float>(high << 16 | low));
        }
    }
    return numbers;
}

template <class Accept>
uint64_t encoded_hash(DType dtype, const NarrowOptions& options, const Accept& accept) {
    Hash hash;
    for (const float number : numbers_around_steps()) {
        if (accept(number)) {
            hash.add(encode_small_float(dtype, double(number), options));
        }
    }
    return hash.value();
}

TEST(SmallFloat, HasTheBitsOfMlDtypes) {
    struct Row {
        DType dtype;
        uint64_t decoded;
        uint64_t saturated;
        uint64_t unsaturated;
    };
    constexpr Row kRows[] = {
        {DType::kFloat8E4M3FN, 0xdad1d9c50f749ca5, 0x989b5ab9e8ebdba5, 0xfcc4275498107775},
        {DType::kFloat8E4M3FNUZ, 0xf51851cb11c63018, 0xbc0aff61e6d5ef65, 0x74e424eb96b55125},
        {DType::kFloat8E5M2, 0x6c1e56b6fb09c905, 0xcf6ea246e8ef7785, 0x13aacb2b415ba5a5},
        {DType::kFloat8E5M2FNUZ, 0x94ae6fc493d49818, 0xb720f4e5b82f9ce5, 0x21bbbe66b1ac4725},
    };
    const auto all = [](float /*number*/) { return true; };
    for (const Row& row : kRows) {
        SCOPED_TRACE(name_of(row.dtype));
        EXPECT_EQ(decoded_hash(row.dtype), row.decoded);
        EXPECT_EQ(encoded_hash(row.dtype, {true, {}}, all), row.saturated);
        EXPECT_EQ(encoded_hash(row.dtype, {false, {}}, all), row.unsaturated);
    }
}

TEST(SmallFloat, PowersOfTwoHaveTheBitsOfTheReferenceEvaluator) {
    EXPECT_EQ(decoded_hash(DType::kFloat8E8M0), 0x6d2c8b41c3f0e5a5);
    struct Row {
        Round round;
        uint64_t saturated;
        uint64_t unsaturated;
    };
    constexpr Row kRows[] = {
        {Round::kUp, 0xaa098608d5282bda, 0x4815311967613b5b},
        {Round::kDown, 0x46e944cdd943bea5, 0x46e944cdd943bea5},
        {Round::kNearest, 0x978f214cb0da9fe5, 0xde2bb7017a89ef25},
    };
    const auto is_normal = [](float number) { return number > 0 && std::isnormal(number); };
    for (const Row& row : kRows) {
        SCOPED_TRACE(int(row.round));
        EXPECT_EQ(encoded_hash(DType::kFloat8E8M0, {true, row.round}, is_normal), row.saturated);
        EXPECT_EQ(encoded_hash(DType::kFloat8E8M0, {false, row.round}, is_normal), row.unsaturated);
    }
}

// The table of Cast-24.
TEST(SmallFloat, PowersOfTwoHaveTheStandardsSpecialValues) {
    const auto code = [](double value, bool saturate, Round round) {
        return int(encode_small_float(DType::kFloat8E8M0, value, {saturate, round}));
    };
    struct Row {
        double value;
        int saturated_up;
        int unsaturated_nearest;
    };
    for (const Row& row : {Row{0, 0, 0xff}, Row{kNan, 0xff, 0xff}, Row{kInfinity, 0xfe, 0xff},
                           Row{0x1.8p127, 0xfe, 0xff}, Row{0x1p128, 0xfe, 0xff},
                           Row{0x1p-128, 0, 0xff}, Row{0x1p-127, 0, 0}}) {
        EXPECT_EQ(code(row.value, true, Round::kUp), row.saturated_up) << row.value;
        EXPECT_EQ(code(row.value, false, Round::kNearest), row.unsaturated_nearest) << row.value;
    }
}

// By way of f32 these would become ties.
TEST(SmallFloat, DoublesRoundOnce) {
    EXPECT_EQ(encode_small_float(DType::kFloat8E4M3FN, 17), 0x58);
    EXPECT_EQ(encode_small_float(DType::kFloat8E4M3FN, std::nextafter(17, 18)), 0x59);
    EXPECT_EQ(encode_small_float(DType::kFloat8E4M3FN, 19), 0x5a);
    EXPECT_EQ(encode_small_float(DType::kFloat8E4M3FN, std::nextafter(19, 18)), 0x59);
    EXPECT_EQ(encode_small_float(DType::kFloat8E8M0, std::nextafter(2, 3)), 0x81);
}

}  // namespace
}  // namespace leat
