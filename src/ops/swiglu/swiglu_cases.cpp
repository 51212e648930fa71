#include <limits>

#include "conformance/case_inputs.h"

namespace leat::testing {

std::vector<OpCase> swiglu_cases() {
    std::vector<OpCase> cases;
    const auto add = [&cases](const std::string& name, const Shape& shape, DType dtype,
                              float alpha = 1) {
        cases.push_back(make_case("SwiGLU", name,
                                  {random_input(shape, dtype, -8, 8), random_input(shape, dtype)},
                                  {{"alpha", alpha}}));
        cases.back().atol = 1e-5;
    };
    for (const DType dtype :
         {DType::kFloat16, DType::kBfloat16, DType::kFloat32, DType::kFloat64}) {
        const std::string name(name_of(dtype));
        add(name, {3, 5, 7}, dtype);
        add(name + "_alpha", {4, 9}, dtype, 1.702F);
        if (bits_of(dtype) == 16) {
            cases.back().rtol = cases.back().atol = 2e-2;
            cases[cases.size() - 2].rtol = cases[cases.size() - 2].atol = 2e-2;
        }
    }
    add("negative_alpha", {40}, DType::kFloat32, -0.5F);
    add("alpha_0", {40}, DType::kFloat32, 0);
    add("scalar", {}, DType::kFloat32);
    add("empty", {3, 0}, DType::kFloat32);
    add("large", {100, 1003}, DType::kFloat32);
    constexpr float kInfinity = std::numeric_limits<float>::infinity();
    cases.push_back(make_case(
        "SwiGLU", "extremes",
        {given_input<float>({7}, {-kInfinity, kInfinity, -1e30F, 1e30F, -0.0F, 0.0F, -100.0F}),
         given_input<float>({7}, {2, 2, 2, 2, 2, 2, 2})}));
    return cases;
}

}  // namespace leat::testing
