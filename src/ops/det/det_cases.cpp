#include "ops/movement/movement_cases.h"

namespace leat::testing {

std::vector<OpCase> det_cases() {
    std::vector<OpCase> cases;
    for (const DType dtype :
         {DType::kFloat16, DType::kBfloat16, DType::kFloat32, DType::kFloat64}) {
        const std::string name(name_of(dtype));
        cases.push_back(make_case("Det", name, {random_elements({4, 4}, dtype)}));
        cases.push_back(make_case("Det", name + "_batch", {random_elements({2, 3, 5, 5}, dtype)}));
    }
    cases.push_back(make_case("Det", "one", {random_elements({3, 1, 1})}));
    cases.push_back(make_case("Det", "empty_matrices", {random_elements({3, 0, 0})}));
    cases.push_back(make_case("Det", "no_matrices", {random_elements({0, 3, 3})}));
    cases.push_back(
        make_case("Det", "singular", {given_input<float>({3, 3}, {1, 2, 3, 2, 4, 6, 0, 1, 5})}));
    cases.push_back(
        make_case("Det", "swapped", {given_input<float>({3, 3}, {0, 0, 2, 0, 3, 0, 5, 0, 0})}));
    return cases;
}

}  // namespace leat::testing
