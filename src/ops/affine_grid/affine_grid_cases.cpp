#include <string>
#include <utility>

#include "conformance/case_inputs.h"

namespace leat::testing {

std::vector<OpCase> affine_grid_cases() {
    std::vector<OpCase> cases;
    const auto add = [&cases](const std::string& name, CaseInput theta, const Ints& size,
                              int64_t align_corners) {
        cases.push_back(make_case("AffineGrid", name, {std::move(theta), constant_ints(size)},
                                  {{"align_corners", align_corners}}));
    };
    for (const int64_t align : {0, 1}) {
        const std::string name = align != 0 ? "_aligned" : "";
        add("2d" + name, random_input({2, 2, 3}), {2, 3, 4, 5}, align);
        add("2d_wider" + name, random_input({2, 2, 3}), {2, 3, 4, 9}, align);
        add("3d" + name, random_input({2, 3, 4}), {2, 1, 3, 4, 2}, align);
        add("3d_deeper" + name, random_input({2, 3, 4}), {2, 1, 5, 4, 2}, align);
        add("one_element" + name, random_input({1, 2, 3}), {1, 1, 1, 1}, align);
        add("empty" + name, random_input({1, 2, 3}), {1, 1, 0, 3}, align);
    }
    for (const DType dtype : {DType::kFloat16, DType::kBfloat16, DType::kFloat64}) {
        add(std::string(name_of(dtype)), random_input({1, 2, 3}, dtype), {1, 2, 3, 4}, 0);
    }
    add("batch_zero", random_input({0, 2, 3}), {0, 2, 3, 4}, 0);
    return cases;
}

}  // namespace leat::testing
