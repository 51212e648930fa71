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

}  // namespace

std::vector<OpCase> cast_cases() {
    std::vector<OpCase> cases;
    constexpr DTypeSet kTypes = kRealTypes | dtype_set(DType::kString);
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
    return cases;
}

}  // namespace leat::testing
