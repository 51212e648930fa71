#include <cmath>
#include <limits>

#include "conformance/case_inputs.h"
#include "ops/elementwise/element_access.h"

namespace leat::testing {

std::vector<OpCase> clip_cases();

std::vector<OpCase> clip_cases() {
    std::vector<OpCase> cases;
    for (int i = 0; i < kDTypeCount; ++i) {
        const auto type = DType(i);
        if (!contains(kNumericTypes, type)) {
            continue;
        }
        const std::string name(name_of(type));
        const double low = contains(kUnsignedTypes, type) ? 0 : -9;
        const CaseInput x = random_input({2, 3, 4, 5}, type, low, 9);
        const CaseInput lower = random_input({}, type, low / 3, 2);
        const CaseInput upper = random_input({}, type, 3, 5);
        cases.push_back(make_case("Clip", name, {x, lower, upper}));
        cases.push_back(make_case("Clip", name + "_none", {x}));
        cases.push_back(make_case("Clip", name + "_low", {x, lower}));
        cases.push_back(make_case("Clip", name + "_high", {x, absent_input(), upper}));
        cases.push_back(make_case("Clip", name + "_crossed", {x, upper, lower}));
        cases.push_back(make_case("Clip", name + "_tiles",
                                  {random_input({90, 1001}, type, low, 9), lower, upper}));
    }
    const CaseInput special = given_input<float>(
        {6}, {std::numeric_limits<float>::quiet_NaN(), HUGE_VALF, -HUGE_VALF, -0.0F, 0.5F, 7});
    const CaseInput zero = given_input<float>({}, {0.0F});
    const CaseInput six = given_input<float>({}, {6.0F});
    cases.push_back(make_case("Clip", "special_values", {special, zero, six}));
    cases.push_back(make_case("Clip", "empty", {random_input({0, 2}, DType::kFloat32), zero, six}));
    cases.push_back(make_case("Clip", "scalar", {random_input({}, DType::kFloat32), zero, six}));
    return cases;
}

}  // namespace leat::testing
