#include "ops/movement/movement_cases.h"

namespace leat::testing {

std::vector<OpCase> reshape_cases() {
    const int64_t one = 1;
    const int64_t minus_two = -2;
    return {
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
}

}  // namespace leat::testing
