// Conformance cases of MeanVarianceNormalization.
#include "conformance/case_inputs.h"

namespace leat::testing {

std::vector<OpCase> mean_variance_normalization_cases() {
    std::vector<OpCase> cases;
    const auto add = [&cases](const std::string& name, CaseInput x, Attributes attributes = {}) {
        cases.push_back(
            make_case("MeanVarianceNormalization", name, {std::move(x)}, std::move(attributes)));
    };
    for (const DType dtype :
         {DType::kFloat16, DType::kBfloat16, DType::kFloat32, DType::kFloat64}) {
        add(std::string(name_of(dtype)), random_input({2, 3, 4, 5}, dtype));
        if (bits_of(dtype) == 16) {
            cases.back().rtol = cases.back().atol = 2e-2;
        }
    }
    add("across_channels", random_input({2, 3, 4, 5}), {{"axes", Ints{0, 1, 2, 3}}});
    add("by_image", random_input({3, 3, 4, 5}), {{"axes", Ints{1, 2, 3}}});
    add("last_axis", random_input({3, 7}), {{"axes", Ints{-1}}});
    add("all_axes", random_input({3, 7}), {{"axes", Ints{}}});
    add("outer_and_inner", random_input({3, 4, 5, 2, 3}), {{"axes", Ints{2, 0, -1}}});
    add("rank_8", random_input({1, 2, 1, 2, 1, 2, 1, 3}), {{"axes", Ints{7, 1}}});
    add("equal_elements", given_input<float>({2, 2}, {3, 3, 3, 3}), {{"axes", Ints{1}}});
    add("empty", random_input({2, 0, 4, 5}));
    add("large", random_input({3, 8, 40, 41}));
    return cases;
}

}  // namespace leat::testing
