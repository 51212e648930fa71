#include "ops/movement/movement_cases.h"

namespace leat::testing {

std::vector<OpCase> shape_of_cases() {
    const int64_t two = 2;
    const int64_t minus_one = -1;
    return {
        {"Shape/all", "Shape", {random_elements({2, 3, 4})}},
        {"Shape/start_end",
         "Shape",
         {random_elements({2, 3, 4})},
         {{"start", minus_one}, {"end", two}}},
        {"Shape/last", "Shape", {random_elements({2, 3, 4})}, {{"start", minus_one}}},
        {"Shape/scalar", "Shape", {random_elements({})}},
        {"Size/some", "Size", {random_elements({2, 3, 4}, DType::kUint8)}},
        {"Size/empty", "Size", {random_elements({2, 0, 4})}},
    };
}

}  // namespace leat::testing
