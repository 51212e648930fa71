#include "ops/movement/movement_cases.h"

namespace leat::testing {

namespace {

CaseInput truth_of_dropout(bool is_on) {
    CaseInput input;
    input.dtype = DType::kBool;
    input.value = Tensor::allocate(DType::kBool, {}).value();
    *input.value.mutable_bytes() = std::byte(is_on ? 1 : 0);
    return input;
}

// In training, with the numbers of a seed: without one no two runs are alike.
std::vector<OpCase> drawing_cases() {
    std::vector<OpCase> cases;
    const auto add = [&cases](const std::string& name, CaseInput x, CaseInput ratio, bool trains) {
        cases.push_back({"Dropout/" + name,
                         "Dropout",
                         {std::move(x), std::move(ratio), truth_of_dropout(trains)},
                         {{"seed", int64_t{7}}},
                         2});
    };
    for (const DType dtype :
         {DType::kFloat16, DType::kBfloat16, DType::kFloat32, DType::kFloat64, DType::kFloat8E4M3FN,
          DType::kFloat8E4M3FNUZ, DType::kFloat8E5M2, DType::kFloat8E5M2FNUZ}) {
        add("drawn_" + std::string(name_of(dtype)), random_input({5, 6}, dtype),
            given_input<float>({}, {0.25F}), true);
    }
    add("drawn_default", random_elements({3, 4}), absent_input(), true);
    add("drawn_none", random_elements({3, 4}), given_input<float>({}, {0}), true);
    add("not_training", random_elements({3, 4}), given_input<float>({}, {0.5F}), false);
    add("drawn_empty", random_elements({0, 4}), given_input<double>({}, {0.5}), true);
    return cases;
}

}  // namespace

std::vector<OpCase> reshape_cases() {
    const int64_t one = 1;
    const int64_t minus_two = -2;
    std::vector<OpCase> cases = {
        {"Reshape/inferred", "Reshape", {random_elements({2, 3, 4}), constant_ints({0, -1})}},
        {"Reshape/more_axes",
         "Reshape",
         {random_elements({2, 3, 4}), constant_ints({2, 1, -1, 2})}},
        {"Reshape/empty",
         "Reshape",
         {random_elements({0, 3, 4}), constant_ints({3, 4, 0})},
         {{"allowzero", one}}},
        {"Reshape/scalar", "Reshape", {random_elements({1, 1}), constant_ints({})}},
        {"Flatten/default", "Flatten", {random_elements({2, 3, 4})}},
        {"Flatten/negative", "Flatten", {random_elements({2, 3, 4})}, {{"axis", minus_two}}},
        {"Squeeze/all", "Squeeze", {random_elements({1, 3, 1})}},
        {"Squeeze/one", "Squeeze", {random_elements({1, 3, 1}), constant_ints({-1})}},
        {"Unsqueeze/two", "Unsqueeze", {random_elements({3, 4}), constant_ints({-1, 0})}},
        {"Squeeze/rows", "Squeeze", {random_elements({3, 1, 4}), constant_ints({1})}},
        {"Unsqueeze/rows", "Unsqueeze", {random_elements({3, 4}), constant_ints({1})}},
        {"Identity/rows", "Identity", {random_elements({3, 4})}},
        {"Identity/strings", "Identity", {given_strings({2, 2})}},
        {"Dropout/plain", "Dropout", {random_elements({3, 4})}},
        {"Dropout/mask", "Dropout", {random_elements({3, 4})}, {}, 2},
    };
    for (OpCase& each : drawing_cases()) {
        cases.push_back(std::move(each));
    }
    return cases;
}

}  // namespace leat::testing
