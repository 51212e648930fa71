#include <cmath>
#include <limits>

#include "conformance/case_inputs.h"
#include "ops/elementwise/element_access.h"

namespace leat::testing {

std::vector<OpCase> cast_cases();

namespace {

OpCase cast(DType to, std::string_view suffix, CaseInput input, Attributes more = {}) {
    more.emplace("to", int64_t(to));
    return make_case("Cast", suffix, {std::move(input)}, std::move(more));
}

constexpr DTypeSet kTypes = kRealTypes | dtype_set(DType::kString);

// As elements of `from`: the numbers of an 8-bit floating type, what lies half way between two, and
// what is as near to that as f64, f32, f16 and bf16 can tell, or integers; what is too large or too
// small; infinities, NaN and both zeros.
CaseInput bounds_of(DType to, DType from) {
    constexpr double kLargest = std::numeric_limits<double>::max();
    std::vector<double> values = {1e-320, 1e-45, 1e-40, 1e20, 1e39, kLargest, HUGE_VAL};
    const int positive_codes = to == DType::kFloat8E8M0 ? 255 : 128;
    double below = 0;
    for (int code = 0; code < positive_codes; ++code) {
        const double low = decode_small_float(to, uint8_t(code));
        if (!std::isfinite(low)) {
            break;
        }
        // Behind the last number there would be another one: of f8e8m0 its double, of the others
        // one as far as the one before.
        const double next = to == DType::kFloat8E8M0 ? 2 * low : 2 * low - below;
        const double high = decode_small_float(to, uint8_t(code + 1));
        const double half = (low + (std::isfinite(high) ? high : next)) / 2;
        below = low;
        for (const double value : {low, half}) {
            values.insert(values.end(), {value, std::nextafter(value, 0), value + 1, value - 1,
                                         std::nextafter(value, HUGE_VAL)});
            for (const double step : {0x1p-23, 0x1p-10, 0x1p-7}) {
                values.push_back(value * (1 + step));
                values.push_back(value * (1 - step));
            }
        }
    }
    const size_t positive = values.size();
    for (size_t i = 0; i < positive; ++i) {
        values.push_back(-values[i]);
    }
    values.push_back(std::numeric_limits<double>::quiet_NaN());
    values.push_back(-std::numeric_limits<double>::quiet_NaN());
    CaseInput input;
    input.dtype = from;
    input.shape = {int64_t(values.size())};
    input.value = Tensor::allocate(from, input.shape).value();
    for (size_t i = 0; i < values.size(); ++i) {
        store_real(from, input.value.mutable_bytes(), int64_t(i), values[i]);
    }
    return input;
}

// To an 8-bit floating type, with and without saturation, in each of its ways to round.
void append_bounds(std::vector<OpCase>& cases, DType from, DType to) {
    const CaseInput bounds = bounds_of(to, from);
    const std::vector<std::string> modes = to == DType::kFloat8E8M0
                                               ? std::vector<std::string>{"up", "down", "nearest"}
                                               : std::vector<std::string>{"up"};
    for (const std::string& mode : modes) {
        const std::string suffix = fmt::format("{}_{}_{}", name_of(from), name_of(to), mode);
        cases.push_back(exact(cast(to, "bounds_" + suffix, bounds, {{"round_mode", mode}})));
        cases.push_back(exact(cast(to, "bounds_unsaturated_" + suffix, bounds,
                                   {{"saturate", int64_t{0}}, {"round_mode", mode}})));
    }
}

// To and from the 8-bit floating types: equal bits on every backend.
void append_byte_floats(std::vector<OpCase>& cases) {
    for (int i = 0; i < kDTypeCount; ++i) {
        for (int j = 0; j < kDTypeCount; ++j) {
            const auto from = DType(i);
            const auto to = DType(j);
            const std::string name = fmt::format("{}_{}", name_of(from), name_of(to));
            if (contains(kByteFloatTypes, from) && contains(kTypes, to)) {
                cases.push_back(exact(cast(to, "codes_" + name, all_codes(from))));
                cases.push_back(exact(cast(to, "codes_unsaturated_" + name, all_codes(from),
                                           {{"saturate", int64_t{0}}})));
            }
            if (contains(kByteFloatTypes, to) &&
                contains(kNumericTypes | dtype_set(DType::kBool), from)) {
                append_bounds(cases, from, to);
            }
        }
    }
}

}  // namespace

std::vector<OpCase> cast_cases() {
    std::vector<OpCase> cases;
    for (int i = 0; i < kDTypeCount; ++i) {
        for (int j = 0; j < kDTypeCount; ++j) {
            if (contains(kTypes, DType(i)) && contains(kTypes, DType(j))) {
                const std::string name = fmt::format("{}_{}", name_of(DType(i)), name_of(DType(j)));
                const double low = contains(kSignedTypes | kFloatTypes, DType(i)) ? -8 : 0;
                cases.push_back(cast(DType(j), name, random_input({2, 3, 4, 5}, DType(i), low, 7)));
            }
        }
    }
    const CaseInput special = given_input<float>(
        {19}, {0.0F, -0.0F, std::numeric_limits<float>::quiet_NaN(), HUGE_VALF, -HUGE_VALF, 1e10F,
               -1e10F, 1e20F, -1e20F, 2147483648.0F, -2147483648.0F, 255.5F, 256.0F, -0.5F,
               65519.0F, 65520.0F, 1e-7F, 448.1F, 0.9F});
    for (int j = 0; j < kDTypeCount; ++j) {
        if (contains(kTypes, DType(j))) {
            const std::string name = "special_" + std::string(name_of(DType(j)));
            cases.push_back(cast(DType(j), name, special));
            cases.push_back(
                cast(DType(j), name + "_unsaturated", special, {{"saturate", int64_t{0}}}));
        }
    }
    const CaseInput wide = given_input<int64_t>(
        {7}, {std::numeric_limits<int64_t>::min(), std::numeric_limits<int64_t>::max(), 16777217,
              -16777219, 300, -1, 0});
    for (const DType to :
         {DType::kInt8, DType::kUint8, DType::kInt32, DType::kUint64, DType::kFloat32,
          DType::kFloat64, DType::kBool, DType::kString, DType::kInt4}) {
        cases.push_back(cast(to, "wide_" + std::string(name_of(to)), wide));
    }
    cases.push_back(
        cast(DType::kInt64, "tiles", random_input({90, 1001}, DType::kFloat32, -1e6, 1e6)));
    cases.push_back(cast(DType::kInt64, "empty", random_input({0, 3}, DType::kFloat32)));
    cases.push_back(cast(DType::kInt64, "scalar", random_input({}, DType::kFloat32)));
    for (const DType to : {DType::kFloat16, DType::kInt64, DType::kBool, DType::kString,
                           DType::kFloat8E4M3FN, DType::kUint4}) {
        const std::string name(name_of(to));
        cases.push_back(make_case(
            "CastLike", "f32_" + name,
            {random_input({2, 3, 4}, DType::kFloat32, 0, 7), random_input({3}, to, 0, 1)}));
    }
    cases.push_back(make_case("CastLike", "unsaturated",
                              {special, random_input({2, 2}, DType::kFloat8E5M2)},
                              {{"saturate", int64_t{0}}}));
    append_byte_floats(cases);
    return cases;
}

}  // namespace leat::testing
