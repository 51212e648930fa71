// Conformance cases of LpNormalization.
#include <limits>

#include "conformance/case_inputs.h"

namespace leat::testing {

std::vector<OpCase> lp_normalization_cases() {
    std::vector<OpCase> cases;
    const auto add = [&cases](const std::string& name, CaseInput x, int64_t axis, int64_t p) {
        cases.push_back(
            make_case("LpNormalization", name, {std::move(x)}, {{"axis", axis}, {"p", p}}));
    };
    for (const DType dtype :
         {DType::kFloat16, DType::kBfloat16, DType::kFloat32, DType::kFloat64}) {
        const std::string name(name_of(dtype));
        add(name + "_l1_last", random_input({3, 4, 5}, dtype), -1, 1);
        add(name + "_l2_last", random_input({3, 4, 5}, dtype), 2, 2);
        add(name + "_l1_middle", random_input({3, 4, 5}, dtype), 1, 1);
        add(name + "_l2_first", random_input({3, 4, 5}, dtype), 0, 2);
        for (size_t i = cases.size() - 4; bits_of(dtype) == 16 && i < cases.size(); ++i) {
            cases[i].rtol = cases[i].atol = 1e-2;
        }
    }
    cases.push_back(make_case("LpNormalization", "defaults", {random_input({6, 33})}));
    add("zeros", given_input<float>({2, 3}, {0, -0.0F, 0, 3, 4, 0}), -1, 2);
    add("large_doubles", random_input({2, 3}, DType::kFloat64, 1e200, 2e200), -1, 2);
    constexpr float kInfinity = std::numeric_limits<float>::infinity();
    constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
    add("no_numbers", given_input<float>({2, 3}, {1, kInfinity, 0, 1, kNan, 2}), -1, 1);
    add("one_axis", random_input({50}), 0, 2);
    add("empty_axis", random_input({3, 0}), 1, 2);
    add("empty", random_input({0, 3}), 1, 1);
    add("rank_8", random_input({1, 2, 1, 2, 1, 2, 1, 3}), 3, 2);
    add("large", random_input({60, 1003}), -1, 2);
    return cases;
}

}  // namespace leat::testing
